#!/usr/bin/env python3
"""Changes one operator or constant of sim/ at a time and asks whether the tests of `make test` see it.

mutate.py [--sample N] [--seed S] [--skip M] [--only TEXT] [--tree FOLDER] [--quick] [FILE or FOLDER...]

Changes are taken in the order of a hash of the seed, their line and what becomes of it, so that a sample stays the same
when other lines change; with --only, those alone whose entry (FILE: LINE: BEFORE -> AFTER) holds the text. Each is compiled
alone and linked into a shared library, which the test programs load; they run from the ones that know the code best to those
that take long, until one fails: units named after the file, units that include its header and then those that include one of
its folder, units of whole runs, the textbook, golden summaries, the published runs' residuals, all other units, the commands.
What lies around the simulator (import, results, study, report, cli, library) is tried with the commands before all other units. Printed:
a line for each change that nothing caught, how many each stage caught, and the share that was caught. Survivors that were
looked at, with the reason, are in tests/mutation/survivors.txt: the stages that take long are left out for them; others end it
with status 1, and so does an entry there that names no change. With --quick the stages that take long are left out, so that
more survive: a way to look for candidates. With --tree the copy of the tree that changes are made in is kept there, and what it
holds built is used again.
"""
import argparse
import collections
import hashlib
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWAPS = {"+": "-", "-": "+", "*": "/", "/": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
         "&&": "||", "||": "&&"}
OPERATOR = re.compile(r" (\+|-|\*|/|<=|>=|==|!=|<|>|&&|\|\|) ")
CONSTANT = re.compile(r"(?<![\w.\[])(\d+\.?\d*(?:[eE][-+]?\d+)?)(?![\w.\]])")
WHOLE = ["run", "program", "validate", "explain", "power"]
QUICK_SCRIPTS = ["textbook_docs.sh", "golden/run.sh", "accuracy.sh"]
SLOW_SCRIPTS = ["cli/run.sh", "docs.sh"]
AROUND = ("import", "results", "study", "report", "cli", "library")  # folders of which commands tell more than predictions do
NOT_IN_LIBRARY = "sim/cli/main.c"
BUILD = pathlib.Path("build/mutate")
MAKE = ["make", "-s", "-j2", "VARIANT=mutate", "CFLAGS=-O1 -fPIC"]
FAR = 3  # of no test program's own
MOST_BYTES, MOST_CPU_S = 8 << 30, 60
ENVIRONMENT = {**os.environ, "CK_FORK": "no"}  # one process a program: what crashes it is a failure as well ...
CAN_CRASH = ["env", "CK_FORK=yes", "CK_DEFAULT_TIMEOUT=60"]  # ... but of those that test crashes


def changes(path):
    """(line, column, length, replacement) of every change; comments, strings, tables of words and declarations are left."""
    found, in_comment = [], False
    for number, line in enumerate(path.read_text().splitlines()):
        code = re.sub(r'"(\\.|[^"\\])*"', lambda m: "#" * len(m[0]), line)
        if in_comment or code.lstrip().startswith(("/*", "//", "#", "*")):
            in_comment = ("/*" in code or in_comment) and "*/" not in code
            continue
        comment = re.search(r"/[*/]", code)
        in_comment = bool(comment) and "/*" in code and "*/" not in code
        code = code[: comment.start()] if comment else code
        if "TSIM_ASSERT" in code or re.match(r"\s*(static |const |struct |enum )*(struct|enum|case) ", code):
            continue
        for match in OPERATOR.finditer(code):
            found.append((number, match.start(1), len(match[1]), SWAPS[match[1]]))
        for match in CONSTANT.finditer(code):
            value = float(match[1])
            text = "1" if value == 0 else "2" if match[1] == "1" else f"{value * 1.5:.17g}" if "." in match[1] or "e" in match[1] else str(int(match[1]) + 1)
            found.append((number, match.start(1), len(match[1]), text))
    return found


def sources(*places):
    """The files of the places; of sim/ without any."""
    files = []
    for place in places or (ROOT / "sim",):
        files += sorted(place.rglob("*.c")) if place.is_dir() else [place]
    return [f for f in files if f != ROOT / NOT_IN_LIBRARY]


def entry_of(path, line, change):
    """As in survivors.txt."""
    _, column, length, replacement = change
    return f"{path.relative_to(ROOT)}: {line.strip()}: {line[column : column + length]} -> {replacement}"


def draw(files, seed):
    """(file, change, entry) of every change of the files, in the order in which they are tried."""
    keyed, seen = [], collections.Counter()
    for path in files:
        lines = path.read_text().splitlines()
        for change in changes(path):
            key = f"{seed}|{path.name}|{lines[change[0]].strip()}|{change[1:]}"
            seen[key] += 1
            keyed.append((hashlib.sha256(f"{key}|{seen[key]}".encode()).digest(), path, change, entry_of(path, lines[change[0]], change)))
    return [item[1:] for item in sorted(keyed, key=lambda item: item[0])]


def run(command, folder, seconds=120):
    def limit():  # of each process: some changes make a loop endless
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))

    try:
        return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds,
                              preexec_fn=limit, env=ENVIRONMENT).returncode
    except subprocess.TimeoutExpired:
        return -1


def make(tree, *targets):
    return run([*MAKE, *targets], tree, 1200) == 0


def copy_tree(origin, copy):
    """Files that are as they were keep their time, so that make makes nothing of them again."""
    wanted = set()
    for source in origin.rglob("*"):
        part = source.relative_to(origin)
        if part.parts[0] in ("build", ".git") or not (source.is_file() or source.is_symlink()):
            continue
        target = copy / part
        wanted.add(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink() or not target.exists() or target.read_bytes() != source.read_bytes():
            target.unlink(missing_ok=True)
            shutil.copy(source, target, follow_symlinks=False)
    for old in [f for f in copy.rglob("*") if f.is_file() and f.relative_to(copy).parts[0] != "build"]:
        if old not in wanted:
            old.unlink()


class Workplace:
    """A copy of the tree in which the test programs load the library under test."""

    def __init__(self, tree, is_quick):
        self.tree, self.is_quick = tree, is_quick
        copy_tree(ROOT, tree)
        if not make(tree, f"{BUILD}/tsim", "unit-programs"):
            sys.exit("the tree does not build")
        sources = sorted(str(p.relative_to(ROOT).with_suffix("")) for p in (ROOT / "sim").rglob("*.[cS]"))
        self.objects = [f"{BUILD}/{s}.o" for s in sources if f"{s}.c" != NOT_IN_LIBRARY] + [f"{BUILD}/generated/chakra.pb-c.o"]
        self.libraries = self.pkg_config("gsl", "yaml-0.1", "sqlite3", "jansson", "zlib", "expat", "libprotobuf-c") + ["-lm"]
        self.support = [f"{BUILD}/tests/support/{p.stem}.o" for p in (ROOT / "tests/support").glob("*.c")]
        if not self.link():
            sys.exit("the library does not link")
        self.units = sorted(p.stem for p in (ROOT / "tests/unit").glob("test_*.c")) + sorted(p.stem for p in (ROOT / "tests/property").glob("test_*.c"))
        for name in self.units:
            self.link_program(f"{BUILD}/tests/{self.kind(name)}/{name}")
        self.link_program(f"{BUILD}/tsim", f"{BUILD}/sim/cli/main.o", [])
        shutil.copy(tree / BUILD / "tsim", tree / "build/tsim")

    @staticmethod
    def kind(name):
        return "unit" if (ROOT / f"tests/unit/{name}.c").exists() else "property"

    def pkg_config(self, *packages):
        return subprocess.run(["pkg-config", "--libs", *packages], capture_output=True, text=True, check=True).stdout.split()

    def link(self):
        return run(["gcc", "-shared", "-Wl,-Bsymbolic", "-o", f"{BUILD}/libundertest.so", *self.objects, *self.libraries], self.tree) == 0

    def link_program(self, program, main=None, support=None):
        support = self.support if support is None else support
        flags = [f"-L{BUILD}", "-lundertest", f"-Wl,-rpath,{self.tree / BUILD}", *self.pkg_config("check"), *self.libraries]
        if run(["gcc", "-o", program, main or f"{program}.o", *support, *flags], self.tree) != 0:
            sys.exit(f"{program} does not link")

    def nearness(self, name, path):
        """How far a test program is from a file; FAR: it has nothing of its folder."""
        text = (ROOT / f"tests/{self.kind(name)}/{name}.c").read_text()
        if f"{name}_".startswith(f"test_{path.stem}_"):
            return 0
        return 1 if f'"{path.parent.name}/{path.stem}.h"' in text else 2 if f'"{path.parent.name}/' in text else FAR

    def programs(self, names):
        return [[f"{BUILD}/tests/{self.kind(n)}/{n}"] for n in names]

    def stages(self, path, is_quick):
        """(name, commands): what is run after a change of the file, in this order."""
        own = sorted((n for n in self.units if self.nearness(n, path) < FAR), key=lambda n: self.nearness(n, path))
        whole = [n for n in (f"test_{w}" for w in WHOLE) if n not in own]
        rest = [n for n in self.units if n not in own + whole]
        early, late = (SLOW_SCRIPTS, QUICK_SCRIPTS) if path.parent.name in AROUND else (QUICK_SCRIPTS, SLOW_SCRIPTS)
        yield "its units", [CAN_CRASH + program for program in self.programs(own)]
        yield "units of runs", self.programs(whole)
        yield from ((s, [["bash", f"tests/{s}", "build/tsim"]]) for s in early)
        if is_quick:
            return
        yield "other units", [CAN_CRASH + program for program in self.programs(rest)]
        yield from ((s, [["bash", f"tests/{s}", "build/tsim"]]) for s in late)

    def failing(self, path, is_quick=False):
        """The first stage that fails, and its command; None when all pass."""
        for name, commands in self.stages(path, is_quick or self.is_quick):
            for command in commands:
                if run(command, self.tree, 600) != 0:
                    return name, command
        return None

    def stage_that_fails(self, path, text, is_quick):
        """'' when all pass, None when `text` in place of the file does not compile."""
        target = self.tree / path.relative_to(ROOT)
        compiled = self.tree / BUILD / path.relative_to(ROOT).with_suffix(".o")
        original, good = target.read_bytes(), compiled.read_bytes()
        target.write_text(text)
        try:
            if not make(self.tree, str(compiled.relative_to(self.tree))) or not self.link():
                return None
            failed = self.failing(path, is_quick)
            return failed[0] if failed else ""
        finally:
            target.write_bytes(original)
            compiled.write_bytes(good)  # newer than its source


def try_change(place, path, change, is_quick):
    number, column, length, replacement = change
    lines = (place.tree / path.relative_to(ROOT)).read_text().splitlines(keepends=True)  # the tree that it is of may have gone on
    line = lines[number]
    lines[number] = line[:column] + replacement + line[column + length :]
    return place.stage_that_fails(path, "".join(lines), is_quick)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=100, help="so many changes; 0: all")
    parser.add_argument("--skip", type=int, default=0, help="so many of the sample are left out: an interrupted run goes on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="changes whose entry holds this text")
    parser.add_argument("--tree", type=pathlib.Path, help="the folder of the copy, which is kept")
    parser.add_argument("--quick", action="store_true", help="without the stages that take long")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    every = draw(sources(*(pathlib.Path(f).resolve() for f in options.files)), options.seed)
    every = [item for item in every if options.only in item[2]]
    drawn = every[options.skip : options.sample or len(every)]
    known = (ROOT / "tests/mutation/survivors.txt").read_text().splitlines()
    known = [entry.split(" | ")[0] for entry in known if entry and not entry.startswith("#")]
    by_stage, unknown = collections.Counter(), 0
    stale = set(known) - {entry for _, _, entry in draw(sources(), 0)}
    for entry in sorted(stale):
        print(f"survivors.txt: no such change: {entry}")
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(options.tree.resolve() if options.tree else pathlib.Path(folder) / "tree", options.quick)
        failed = place.failing(ROOT / "sim/base/x.c")
        if failed:  # it would seem to catch every change
            sys.exit(f"fails without a change: {' '.join(failed[1])}")
        for number, (path, change, entry) in enumerate(drawn, options.skip + 1):
            stage = try_change(place, path, change, entry in known)
            print(f"{number}: {stage if stage else 'does not compile' if stage is None else 'survived'}", file=sys.stderr, flush=True)
            if stage is None:
                continue
            by_stage[stage] += 1
            if not stage:
                unknown += entry not in known
                print(f"survived{' (known)' if entry in known else ''}: {entry}", flush=True)
            elif stage not in ("its units", "units of runs"):
                print(f"caught by {stage} alone: {entry}", flush=True)
    tried, survived = sum(by_stage.values()), by_stage.pop("", 0)
    print(", ".join(f"{name} {n}" for name, n in by_stage.most_common()))
    print(f"{tried - survived} of {tried} changes caught, of {len(every)} that there are; {unknown} survivors without a reason")
    sys.exit(1 if unknown or stale else 0)


main()
