#!/usr/bin/env python3
"""tests/python/package.py TSIM - the package tsim: its answers are what the program prints, mistakes have their places, jobs run
beside each other, Ctrl-C ends a search; then the examples of docs/library.md and the notebook."""
import contextlib, doctest, io, json, os, re, shutil, signal, subprocess, sys, tempfile, threading, time, types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import notebook

program = sys.argv[1]
root = Path(__file__).resolve().parents[2]
os.environ.pop("TSIM_DATA", None)
os.chdir(tempfile.mkdtemp())
import tsim

FILE = str(root / "scenarios/llama70b.yaml")
TEXT = Path(FILE).read_text()
SMALL = {"schema": "tsim/v1", "name": "small", "model": "gpt2-small", "cluster": {"node": "single-a100-80gb"}}
LONG = {"cluster.nodes": [16, 32, 48, 64, 96, 128, 192, 256, 384, 512], "cluster.node": ["dgx-h100", "dgx-a100", "dgx-b200"]}
slowness = float(os.environ.get("TSIM_TEST_SLOWNESS", 1))
passed = failed = 0


def check(what, holds, found=""):
    global passed, failed
    passed, failed = (passed + 1, failed) if holds else (passed, failed + 1)
    if not holds:
        print(f"FAIL {what}: {str(found)[:600]}")


def printed(*words, text=None):
    return subprocess.run([program, *words], input=text, capture_output=True, text=True).stdout


def without_simulator(text):
    return re.sub(r'^  "simulator": .*\n', "", text, flags=re.M)


def test_answers():
    auto = ["--set", "parallelism.data=auto"]
    for what, answer, words, text in [
            ("a file", lambda: tsim.run(FILE), ["run", FILE, "--no-db"], None),
            ("a text, and settings", lambda: tsim.run(TEXT, cluster__nodes=64, parallelism={"data": "auto"}), ["run", "-", "--no-db", "--set", "cluster.nodes=64", *auto], TEXT),
            ("a dictionary, a list and a seed", lambda: tsim.run(SMALL, {"cost.rent": "3 USD/h"}, seed=3), ["run", "-", "--no-db", "--set", "cost.rent=3 USD/h", "--seed", "3"], json.dumps(SMALL)),
            ("what does not fit", lambda: tsim.run(FILE, training__micro_batch_size=32), ["run", FILE, "--no-db", "--set", "training.micro_batch_size=32"], None),
            ("check", lambda: tsim.check(TEXT), ["check", "-"], TEXT), ("explain", lambda: tsim.explain(FILE), ["explain", FILE], None),
            ("a term", lambda: tsim.explain(FILE, term="mfu"), ["explain", FILE, "mfu"], None), ("compare", lambda: tsim.compare(FILE, FILE, cluster__nodes=64, parallelism__data="auto"), ["compare", FILE, FILE, "--set", "cluster.nodes=64", *auto], None),
            ("sweep", lambda: tsim.sweep(TEXT, {"parallelism.tensor": [4, 8], "training.recompute": ["none", "full"]}, parallelism__data="auto", jobs=2), ["sweep", "-", "--no-db", "--vary", "parallelism.tensor=4,8", "--vary", "training.recompute=none,full", *auto], TEXT),
            ("scale", lambda: tsim.scale(FILE, gpus=[512, 1024]), ["scale", FILE, "--no-db", "--gpus", "512,1024"], None), ("plan", lambda: tsim.plan(FILE, {"cluster.nodes": [4]}, {"model.layers": 8}), ["plan", FILE, "--vary", "cluster.nodes=4", "--set", "model.layers=8"], None),
            ("buy", lambda: tsim.buy(model="llama3-8b", tokens="100 B", deadline="90 days", vary={"cluster.node": ["dgx-h100"], "cluster.fabric": ["ib-ndr"], "cluster.nodes": [8]}), ["buy", "--model", "llama3-8b", "--tokens", "100 B", "--deadline", "90 days", "--vary", "cluster.node=dgx-h100", "--vary", "cluster.fabric=ib-ndr", "--vary", "cluster.nodes=8"], None),
            ("validate", lambda: tsim.validate(root / "scenarios/published/accelerate-7b-a100-4-001.yaml"), ["validate", str(root / "scenarios/published/accelerate-7b-a100-4-001.yaml")], None)]:
        result, expected = answer(), printed(*words, "--json", "--quiet", text=text)
        check(f"{what}: what the program prints", expected and without_simulator(result.text) == without_simulator(expected), (result.text, expected))
        check(f"{what}: as a dictionary, with a table", dict(result) == json.loads(result.text) and len(result.table) > 0, result.table)
    check("nothing is written", os.listdir() == [], os.listdir())
    check("the catalogue", tsim.catalogue() == json.loads(printed("list", "--json")) and tsim.show("model/llama2-70b") == json.loads(printed("show", "model/llama2-70b", "--json")))
    rows = tsim.sweep(TEXT, vary={"parallelism.tensor": "4,8"}, parallelism__data="auto").table
    check("a point's row has what was set and its figures", [r["parallelism.tensor"] for r in rows] == [4, 8] and all(r["step.time_s"] > 0 for r in rows), rows)
    estimated = tsim.run(SMALL, cluster__fabric="ib-ndr").warnings
    check("warnings of a scenario", all(d["severity"] == "warning" and d["message"] for d in estimated) and estimated and tsim.run(FILE).warnings == [], estimated)
    check("a validated text has its name", tsim.validate((root / "scenarios/published/accelerate-7b-a100-4-001.yaml").read_text()).table[0]["file"] == "scenario-1")


def raised(kind, call):
    try:
        call()
    except kind as error:
        return error
    return None


def test_mistakes():
    error = raised(tsim.ScenarioError, lambda: tsim.run(TEXT.replace("model: llama2-70b", "model: llama2-70").replace("nodes: ", "nodse: ")))
    line = [l.split("#")[0].strip() for l in TEXT.splitlines()].index("model: llama2-70b") + 1
    check("each mistake has file, line and column", error and f"scenario:{line}:8: error: model: unknown model 'llama2-70' (did you mean 'llama2-70b'" in str(error) and len(error.diagnostics) == 2 and error.status == 3, error)
    check("and its fields", error and error.diagnostics[0]["line"] == line and error.diagnostics[0]["column"] == 8 and error.diagnostics[0]["field"] == "model", error and error.diagnostics)
    error = raised(tsim.ScenarioError, lambda: tsim.run(FILE, cluster__nods=4))
    check("a setting that is not there", error and "--set cluster.nods: error" in str(error) and "did you mean" in str(error), error)
    error = raised(tsim.TsimError, lambda: tsim.run("no/such.yaml"))
    check("a file that is not there", error and error.status == 5 and "no/such.yaml" in str(error), error)
    error = raised(tsim.TsimError, lambda: tsim.run(FILE, seed="x"))
    check("a wrong option", error and error.status == 2 and "--seed" in str(error), error)
    error = raised(tsim.TsimError, lambda: tsim.command("serve"))
    check("a command that the library has not", error and error.status == 2 and "serve" in str(error), error)
    check("an empty text", raised(tsim.ScenarioError, lambda: tsim.run("\n")))
    error = raised(KeyError, lambda: tsim.plan(FILE, {"cluster.nodes": [4]}, {"model.layers": 8}).chart("front"))
    check("a chart that nobody asked for", error and "charts=True" in str(error), error)


def test_notebook_forms():
    run = tsim.run(FILE)
    check("a chart is the SVG of the reports", run.chart("memory")._repr_svg_() == printed("export", FILE, "--format", "svg", "--chart", "memory"), run.chart("memory"))
    plan = tsim.plan(FILE, {"cluster.nodes": [1, 2]}, {"model.layers": 8}, charts=True)
    check("a search has its charts", plan.charts and all(str(c).startswith("<svg") for c in plan.charts.values()), plan.charts)
    check("and shows them below its table", plan._repr_html_().startswith("<table>") and all(c.svg in plan._repr_html_() for c in plan.charts.values()))
    check("text is no markup", "<script" not in tsim.run(SMALL, description="</td><script>")._repr_html_())
    frames = types.ModuleType("pandas")
    frames.DataFrame = lambda rows, columns: (rows, columns)
    sys.modules["pandas"] = frames  # whether or not it is installed
    rows, columns = plan.frame()
    del sys.modules["pandas"]
    check("a table becomes a frame", rows == list(plan.table) and "step.time_s" in columns and len(columns) == len(set(columns)), columns)
    if shutil.which("python3") and subprocess.run([sys.executable, "-c", "import pandas"], capture_output=True).returncode == 0:
        check("of pandas", len(run.frame()) == 1)


def test_threads():
    expected = [tsim.run(SMALL, training__global_batch_size=8 * (i + 1))["step"]["time_s"] for i in range(4)]
    found = [None] * 16
    def work(i):
        found[i] = tsim.run(SMALL, training__global_batch_size=8 * (i % 4 + 1))["step"]["time_s"]
    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check("jobs run beside each other", found == 4 * expected, found)


def test_interrupt():
    child = subprocess.Popen([sys.executable, "-c", f"import tsim\nprint('begins', flush=True)\ntry:\n  tsim.plan({FILE!r}, {LONG!r}, any_software=True)\nexcept KeyboardInterrupt:\n  print('interrupted')\n  print(tsim.run({SMALL!r})['status'])"],
                             stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    time.sleep(0.1)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    out = child.communicate(timeout=60 * slowness)[0]
    check("Ctrl-C ends a search, and the next run works", out.split() == ["interrupted", "ok"] and time.monotonic() - began < 5 * slowness, out)


def test_documentation():
    os.chdir(root)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = doctest.testfile(str(root / "docs/library.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    check("the examples of docs/library.md", result.attempted > 5 and result.failed == 0, out.getvalue())
    os.chdir(root / "docs/examples")
    wrong = notebook.differences(root / "docs/examples/notebook.ipynb")
    check("the notebook gives what it shows", wrong == [], wrong)
    if shutil.which("jupyter-nbconvert"):
        done = subprocess.run(["jupyter-nbconvert", "--to", "notebook", "--execute", "--stdout", "notebook.ipynb"], capture_output=True)
        check("in Jupyter, too", done.returncode == 0, done.stderr)


for test in (test_answers, test_mistakes, test_notebook_forms, test_threads, test_interrupt, test_documentation):
    test()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
