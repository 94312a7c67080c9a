#!/usr/bin/env python3
"""Changes one operator or constant of sim/cost or sim/workload at a time and asks whether the fast tests see it.

mutate.py [--sample N] [--seed S] [FILE...]

Each change is compiled alone (-O0) and linked with test programs until one fails: units of the folder first, then those of
whole runs, then the golden summaries. Printed: a line for each change that nothing caught, and the share that was caught.
Survivors that were looked at, with the reason, are in tests/mutation/survivors.txt; others end it with status 1.
"""
import argparse
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWAPS = {"+": "-", "-": "+", "*": "/", "/": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
         "&&": "||", "||": "&&"}
OPERATOR = re.compile(r" (\+|-|\*|/|<=|>=|==|!=|<|>|&&|\|\|) ")
CONSTANT = re.compile(r"(?<![\w.\[])(\d+\.?\d*(?:[eE][-+]?\d+)?)(?![\w.\]])")
UNITS = {
    "cost": ["collective", "torus", "compute", "character", "collective_measured", "dispatch_measured", "operators", "topology", "traffic"],
    "workload": ["operators", "operators_experts", "memory", "model", "routing", "schedule", "schedule_zero_bubble", "layer_list",
                 "optimizer", "tables", "arithmetic", "offload", "catalogue_counts"],
}
WHOLE = ["run", "program", "validate", "explain", "power"]


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


def run(command, folder, seconds=120):
    try:
        return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        return -1


def make(tree, *targets):
    return run(["make", "-s", "-j2", "VARIANT=debug", "OPT_debug=-O0", *targets], tree, 600) == 0


def tests_of(path):
    for name in UNITS[path.parent.name] + WHOLE:
        if (ROOT / f"tests/unit/test_{name}.c").exists():
            yield f"build/debug/tests/unit/test_{name}"


def is_caught(tree, path):
    """None when it does not compile."""
    if not make(tree, f"build/debug/{path.relative_to(ROOT).with_suffix('.o')}"):
        return None
    for program in tests_of(path):
        if not make(tree, program) or run([program], tree) != 0:
            return True
    return not make(tree, "build/debug/tsim") or run(["tests/golden/run.sh", "build/debug/tsim"], tree, 300) != 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=100, help="so many changes, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    files = [pathlib.Path(f).resolve() for f in options.files] or sorted(ROOT.glob("sim/cost/*.c")) + sorted(ROOT.glob("sim/workload/*.c"))
    every = [(path, change) for path in files for change in changes(path)]
    drawn = random.Random(options.seed).sample(every, min(options.sample or len(every), len(every)))
    known = (ROOT / "tests/mutation/survivors.txt").read_text().splitlines()
    known = [entry.split(" | ")[0] for entry in known if entry and not entry.startswith("#")]
    caught = survived = unknown = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns("build", ".git"))
        if not make(tree, "build/debug/tsim", *{p for path in files for p in tests_of(path)}):
            sys.exit("the tree does not build")
        for path, (number, column, length, replacement) in drawn:
            original = path.read_text()
            lines = original.splitlines(keepends=True)
            line = lines[number]
            before = line[column : column + length]
            lines[number] = line[:column] + replacement + line[column + length :]
            target = tree / path.relative_to(ROOT)
            target.write_text("".join(lines))
            result = is_caught(tree, path)
            target.write_text(original)
            if result is None:
                continue
            caught += result
            if not result:
                survived += 1
                entry = f"{path.relative_to(ROOT)}: {line.strip()}: {before} -> {replacement}"
                is_known = entry in known
                unknown += not is_known
                print(f"survived{' (known)' if is_known else ''}: {entry}", flush=True)
    print(f"{caught} of {caught + survived} changes caught, of {len(every)} that there are; {unknown} survivors without a reason")
    sys.exit(1 if unknown else 0)


main()
