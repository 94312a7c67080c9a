"""The C library, libtsim.so: one call gives a command of the program and takes the JSON that it prints.

Nothing but ctypes. A command runs on a thread of its own, so that Ctrl-C reaches the interpreter meanwhile; it is then asked to
end, and KeyboardInterrupt follows.
"""
import ctypes
import json
import os
import threading
from pathlib import Path

API = 1  # TSIM_API_VERSION of tsim.h: the library's soname ends with it
OK, USAGE, INVALID, DOES_NOT_FIT, IO, GATE, INTERRUPTED = 0, 2, 3, 4, 5, 6, 130


class TsimError(Exception):
    """A command that did not answer. `status` is the exit status of the program, `diagnostics` a list of dictionaries
    (severity, file, line, column, field, message, hint), and the text says each as file:line:column."""

    def __init__(self, status, diagnostics, said):
        self.status, self.diagnostics = status, diagnostics
        super().__init__("\n".join([diagnostic_text(d) for d in diagnostics] + said.splitlines()) or f"exit status {status}")


class ScenarioError(TsimError):
    """The scenario, or what was set on it, is wrong."""


def diagnostic_text(d):
    """"scenario:3:8: error: model: unknown model 'llama2-70' (did you mean 'llama2-70b'?)"."""
    place = d.get("file", "")
    if d.get("line"):
        place += f":{d['line']}:{d['column']}"
    if d.get("set"):
        place = f"--set {d['set']}"
    parts = [place, d["severity"], d.get("field"), d["message"]]
    return ": ".join(p for p in parts if p) + (f" ({d['hint']})" if d.get("hint") else "")


def _candidates():
    name, here = f"libtsim.so.{API}", Path(__file__).resolve()
    if os.environ.get("TSIM_LIBRARY"):
        return [os.environ["TSIM_LIBRARY"]]
    beside = [here.parents[3] / name, here.parents[3] / "build/release" / name]  # PREFIX/lib; the source tree
    return [str(p) for p in beside if p.exists()] + [name]


def _open():
    try:
        library = ctypes.CDLL(_candidates()[0])
    except OSError as error:
        raise ImportError(f"{error}: 'make install' puts it below PREFIX/lib; TSIM_LIBRARY names the file") from None
    text, pointer = ctypes.c_char_p, ctypes.c_void_p
    for function, result, arguments in [
            ("version", text, []), ("new", pointer, []), ("free", None, [pointer]), ("lend", ctypes.c_int, [pointer, text, text]),
            ("command", ctypes.c_int, [pointer, text, ctypes.POINTER(text), ctypes.c_size_t]), ("json", text, [pointer]),
            ("diagnostics", text, [pointer]), ("view", text, [pointer]), ("messages", text, [pointer]), ("interrupt", None, [pointer])]:
        f = getattr(library, "tsim_job_" + function)
        f.restype, f.argtypes = result, arguments
    return library


_library = _open()


def version():
    """The library's: "1.0.0"."""
    return _library.tsim_job_version().decode()


class Answer:
    """The outcome of a command: `text` is what the program prints with --json, byte for byte."""

    def __init__(self, status, text, diagnostics, said, view):
        self.status, self.text, self.diagnostics, self.said, self.view = status, text, diagnostics, said, view


class _Job:
    """A job of the library, worked by a thread that also frees it: whoever waits may leave at any moment."""

    def __init__(self, name, words, texts):
        self.name, self.words, self.texts = name, words, texts
        self.answer, self.pointer, self.lock = None, _library.tsim_job_new(), threading.Lock()
        self.thread = threading.Thread(target=self._work, name="tsim " + name)
        self.thread.start()

    def _work(self):
        given = (ctypes.c_char_p * len(self.words))(*[w.encode() for w in self.words])
        status = OK
        for file, text in self.texts.items():
            status = status or _library.tsim_job_lend(self.pointer, file.encode(), text.encode())
        status = status or _library.tsim_job_command(self.pointer, self.name.encode(), given, len(given))
        text = [getattr(_library, "tsim_job_" + what)(self.pointer).decode() for what in ("json", "diagnostics", "messages", "view")]
        self.answer = Answer(status, text[0], json.loads(text[1]), text[2], json.loads(text[3]) if text[3] else None)
        with self.lock:
            _library.tsim_job_free(self.pointer)
            self.pointer = None

    def interrupt(self):
        with self.lock:
            if self.pointer:
                _library.tsim_job_interrupt(self.pointer)


def command(name, *words, texts=None):
    """The command `name` with the words of its command line; `texts` are found as files of their names. Raises ScenarioError or
    TsimError where there is no answer."""
    job = _Job(name, [str(w) for w in words], texts or {})
    try:
        job.thread.join()
    except BaseException:  # KeyboardInterrupt, as a rule
        job.interrupt()
        raise
    answer = job.answer
    errors = [d for d in answer.diagnostics if d["severity"] == "error"]
    if answer.status == INTERRUPTED:
        raise KeyboardInterrupt
    if errors or not answer.text or answer.status in (USAGE, IO):
        raise (ScenarioError if answer.status == INVALID else TsimError)(answer.status, errors, answer.said)
    return answer
