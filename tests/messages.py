#!/usr/bin/env python3
"""The text of a message stands in one place: an expectation of tests/cli, which `--update` writes anew. tests/messages.py prints
each literal of a unit or property test that holds FEW words or more of one of these messages or of its hint, figures and names
apart, and ends with 1 when there are any. Such tests check what kind of mistake it is, its place and a key word."""
import glob
import os
import re
import sys

FEW = 5
os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def words(text):
    """The text's words of letters: figures, paths and names between quotes differ from test to test."""
    return re.findall(r"[A-Za-z]+(?:'[a-z]+)?", re.sub(r"(?<![a-z])'[^']*'|[\w./-]*[\d_./][\w./-]*", " # ", text))


def runs(text):
    """Every run of FEW words of the text."""
    list_ = words(text)
    return {" ".join(list_[i : i + FEW]).lower() for i in range(len(list_) - FEW + 1)}


def messages():
    """Run of words -> the expectation that it stands in."""
    known = {}
    for path in sorted(glob.glob("tests/cli/*/expected")):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        is_hint = False
        for number, line in enumerate(lines, 1):
            said = re.search(r"\b(error|warning): (.*)", line)
            is_hint = bool(said) or is_hint and line.startswith("  ")
            has_caret = number < len(lines) and lines[number].strip() == "^"
            is_quoted = has_caret or re.fullmatch(r"  [a-z_]+: \{.*\}", line)  # a line of the file
            if is_hint and not is_quoted:
                for run in runs(said[2] if said else line):
                    known.setdefault(run, f"{path}:{number}")
    return known


def is_input(text):
    """Whether the literal is read by what is tested: lines of a file, a mapping, options."""
    return "\\n" in text or text.startswith(("{", "-"))


def literals(path):
    """(line, text) of the literals of a C file, neighbours joined."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    source = re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match[0]), source, flags=re.S)
    literal = r'"(?:\\.|[^"\\\n])*"'
    for match in re.finditer(rf"{literal}(?:\s*{literal})*", source):
        yield source.count("\n", 0, match.start()) + 1, " ".join(part[1:-1] for part in re.findall(literal, match[0]))


def main():
    known = messages()
    n_found = 0
    for path in sorted(glob.glob("tests/unit/*.c") + glob.glob("tests/property/*.c")):
        for line, text in literals(path):
            place = next((known[run] for run in sorted(runs(text)) if run in known), None)
            if place and not is_input(text):
                n_found += 1
                print(f'{path}:{line}: "{text[:80]}" is a text of {place}')
    sys.exit(1 if n_found or len(known) < 1000 else 0)


main()
