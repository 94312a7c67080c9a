#!/usr/bin/env python3
"""The answers in docs/questions.md: python3 tools/questions.py TSIM [--write]

Each `<!-- answer: WORDS -->` is followed by a table of what `tsim WORDS --json` finds as the best plan of each cluster, up to
`<!-- /answer -->`; beneath it what --sensitivity says. Without --write the tables are compared: texts must be the same and numbers within 3 %, so that a
prediction that moves a little does not call for it; what moves more may change a sentence of the page, too."""
import json
import re
import subprocess
import sys

PAGE = "docs/questions.md"
TOLERANCE = 0.03
PLAN_KEYS = ("parallelism.", "training.micro_batch_size", "training.recompute")


def significant(x, digits=3):
    if x >= 10 ** digits:
        return f"{x:,.0f}"
    return f"{x:.{max(0, digits - len(str(int(x))))}f}"


def money(usd):
    return "-" if usd is None else f"{significant(usd / 1e6)} M USD" if usd >= 1e6 else f"{usd / 1e3:.0f} k USD"


def plan_text(s):
    get = lambda key: s["parallelism." + key]
    parts = [f"tensor {get('tensor')}", f"pipeline {get('pipeline')}" + (f" x {get('virtual_pipeline')}" if get("virtual_pipeline") > 1 else "")]
    parts += [f"{key} {get(key)}" for key in ("context", "expert") if get(key) > 1] + [f"data {get('data')}"]
    return ", ".join(parts)


def settings(row):
    """Returns what makes the cluster another one, but node and how many."""
    return {k: v for k, v in row["set"].items()
            if not k.startswith(PLAN_KEYS) and k not in ("cluster.node", "cluster.nodes")}


def name(row, rows):
    same = [r for r in rows if (r["accelerator"], r["summary"]["accelerators"]) == (row["accelerator"], row["summary"]["accelerators"])]
    differs = [k for k in settings(row) if len({str(settings(r).get(k)) for r in same}) > 1]
    rest = "".join(f", {k.split('.')[-1].replace('_', ' ')} {row['set'][k]}" for k in differs)
    return f"{row['summary']['accelerators']:,} {row['accelerator']}{rest}"


def interval(value, step, uncertainty):
    return f"{significant(value)} ({significant(value * uncertainty['step_time_low_s'] / step)} to {significant(value * uncertainty['step_time_high_s'] / step)})"


def answer(program, words):
    done = subprocess.run([program, *words.split(), "--json", "--quiet"], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    rows = found["best_of_each"]
    lines = ["| cluster | its best plan | step, s | days | rent | MWh |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        s = row["summary"]
        step, campaign = s["step"]["time_s"], s["campaign"]
        lines.append(f"| {name(row, rows)} | {plan_text(row['set'])} | {interval(step, step, s['uncertainty'])} "
                     f"| {interval(campaign['days'], step, s['uncertainty'])} | {money(campaign.get('rent_usd'))} "
                     f"| {significant(campaign['energy_kwh'] / 1000)} |")
    if "verdict" in found:
        text = found["verdict"]
        for row in rows:
            text = re.sub(rf"cluster {row['cluster']}\b", name(row, rows), text)
        lines += ["", f"*{text}*"]
    return "\n".join(lines)


def is_like(old, new):
    """The tables; what is said of them beneath turns with a thousandth, and is only written."""
    old, new = (re.sub(r"\n\*.*\*$", "", text) for text in (old, new))
    number = r"\d[\d,]*\.?\d*"
    a, b = ([float(x.replace(",", "").rstrip(".")) for x in re.findall(number, text)] for text in (old, new))
    return re.sub(number, "#", old) == re.sub(number, "#", new) and all(abs(x - y) <= TOLERANCE * abs(x) + 1e-9 for x, y in zip(a, b))


def main():
    program, write = sys.argv[1], "--write" in sys.argv
    sys.stdout.reconfigure(line_buffering=True)
    text = open(PAGE, encoding="utf-8").read()
    n_bad = 0

    def fill(match):
        nonlocal n_bad
        new = answer(program, match[1])
        if not write and not is_like(match[2].strip("\n"), new):
            n_bad += 1
            print(f"{PAGE}: the answer of 'tsim {match[1]}' is now\n{new}")
        return f"<!-- answer: {match[1]} -->\n{new}\n<!-- /answer -->"

    new_text = re.sub(r"<!-- answer: (.*?) -->\n(.*?)<!-- /answer -->", fill, text, flags=re.S)
    if write:
        open(PAGE, "w", encoding="utf-8").write(new_text)
    elif n_bad:
        print(f"python3 tools/questions.py {program} --write, and read the page again")
    return 1 if n_bad else 0


sys.exit(main())
