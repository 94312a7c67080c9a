#!/usr/bin/env python3
"""Which branches the tests took: branches.py BUILD_FOLDER [--least PERCENT] [--missed] FOLDER...

BUILD_FOLDER was built with --coverage and its tests were run. Printed: a line for each FOLDER of sim/ with the share of its
branches that were taken; --missed: also every line with one that was not. Branches of assertions (TSIM_ASSERT,
TSIM_ALWAYS) do not count: they are there so as not to be taken. Below PERCENT the exit status is 1.
"""
import argparse
import gzip
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASSERTION = re.compile(r"\bTSIM_(ASSERT|ALWAYS)\(")


def assertion_lines(source):
    """Numbers of the lines that an assertion stands on, from its name to its last parenthesis."""
    lines, open_parentheses = set(), 0
    for number, line in enumerate(source.read_text().splitlines(), 1):
        match = ASSERTION.search(line) if open_parentheses == 0 else None
        if match or open_parentheses > 0:
            lines.add(number)
            code = re.sub(r'"(\\.|[^"\\])*"', "", line[match.start() if match else 0 :])
            open_parentheses += code.count("(") - code.count(")")
    return lines


def branches(build, source):
    """{line: [times each branch was taken]}"""
    notes = build / source.relative_to(ROOT).with_suffix(".gcda")
    if not notes.exists():
        return None
    found = subprocess.run(["gcov", "--json-format", "--stdout", "-b", str(notes)], cwd=ROOT, capture_output=True, check=True)
    out, ignored, taken = found.stdout, assertion_lines(source), {}
    for file in json.loads(gzip.decompress(out) if out[:2] == b"\x1f\x8b" else out)["files"]:
        if (ROOT / file["file"]).resolve() != source:
            continue
        for line in file["lines"]:
            if line["line_number"] not in ignored:
                taken.setdefault(line["line_number"], []).extend(b["count"] for b in line["branches"])
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    is_enough = True
    for folder in options.folders:
        n_taken = n_all = 0
        for source in sorted((ROOT / "sim" / folder).rglob("*.c")):
            lines = branches(options.build.resolve(), source)
            if lines is None:
                continue  # nothing in it runs
            text = source.read_text().splitlines()
            for number, counts in sorted(lines.items()):
                n_all += len(counts)
                n_taken += sum(count > 0 for count in counts)
                if options.missed and not all(counts):
                    print(f"{source.relative_to(ROOT)}:{number}: {sum(c == 0 for c in counts)} of {len(counts)}: {text[number - 1].strip()}")
        share = 100 * n_taken / n_all if n_all else 0
        is_enough &= share >= options.least
        print(f"{folder}: {n_taken} of {n_all} branches, {share:.1f} %")
    sys.exit(0 if is_enough else 1)


main()
