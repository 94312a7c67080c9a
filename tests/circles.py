#!/usr/bin/env python3
"""Files of sim/ that call each other in a circle: circles.py BUILD_FOLDER [--calls].

A file calls another when its object needs a function or a table that the other's object defines. Prints each circle with its
calls and exits 1; circles in STAY are known, each with its reason, and a line of STAY that is no circle any more fails, too.
With --calls prints every circle, known or not, with its calls.
"""
import os
import subprocess
import sys

# The files of a circle that stays, and why.
STAY = {}


def symbols(build):
    """Returns what each object defines and what it needs, by file ("config/rules")."""
    root = os.path.join(build, "sim")
    objects = sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if name.endswith(".o")
    )
    if not objects:
        sys.exit(f"circles.py: no objects under {root}")
    defined, needed = {}, {}
    # gcc-nm reads objects of the link-time optimizer as well: "build/sim/config/rules.o: tsim_rules T 0 40"
    text = subprocess.run(["gcc-nm", "-A", "-P", "-g", *objects], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        path, symbol, kind = line.split()[:3]
        name = os.path.relpath(path.rstrip(":"), root)[: -len(".o")]
        if not os.path.exists(f"sim/{name}.c"):
            continue  # of a file that is no more, or assembler
        if kind in "Uw":
            needed.setdefault(name, set()).add(symbol)
        else:
            defined[symbol] = name
    return defined, needed


def circles(calls):
    """The strongly connected components of more than one file (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(calls.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(tuple(sorted(stack[at:])))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in sorted(calls):
        if node not in index:
            visit(node)
    return sorted(found)


def main():
    assert circles({"a": "b", "b": "ac", "c": "d", "d": "c", "e": "a"}) == [("a", "b"), ("c", "d")]
    os.chdir(os.path.join(os.path.dirname(__file__), ".."))
    build = sys.argv[1]
    defined, needed = symbols(build)
    calls = {}
    for name, wanted in needed.items():
        for symbol in wanted:
            if symbol in defined and defined[symbol] != name:
                calls.setdefault(name, {}).setdefault(defined[symbol], set()).add(symbol)
    found = circles(calls)
    wrong = [circle for circle in found if circle not in STAY]
    for circle in found if "--calls" in sys.argv else wrong:
        print("circle of calls:", " ".join(circle), f"(stays: {STAY[circle]})" if circle in STAY else "")
        for name in circle:
            for other in sorted(set(calls[name]) & set(circle)):
                print(f"  {name} -> {other}: {', '.join(sorted(calls[name][other]))}")
    gone = [circle for circle in STAY if circle not in found]
    for circle in gone:
        print("circles.py: no circle any more, take it from the list:", " ".join(circle))
    sys.exit(1 if wrong or gone else 0)


if __name__ == "__main__":
    main()
