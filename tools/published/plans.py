#!/usr/bin/env python3
"""Published plans beside those that tsim would take: python3 tools/published/plans.py TSIM [--write | --ranks]

For each published run below: its own plan, and the best that `tsim plan` finds among what its framework had (schedules 1f1b
and interleaved, ZeRO 0 and 1), as rows of a Markdown table; then the rank correlation (Spearman) of BLOOM's measured
runs. And what a plan that loses more than 3 % loses it by: the best plan that has one thing as published, for each thing
that differs, and where its step is longer. --write puts all of it between the marks in docs/plans.md; --ranks prints
the rank correlation alone."""
import csv
import glob
import json
import os
import pathlib
import re
import subprocess
import sys

from ranking import spearman

RUNS = ["korthikanti-22b-full", "korthikanti-22b-selective", "korthikanti-175b-full", "korthikanti-175b-selective",
        "megatron-gpt3-175b", "dgxc-gpt3-175b-h100-128", "dgxc-llama31-70b-h100-64", "dgxc-llama31-70b-h100-512",
        "dgxc-15b-h100-16-177", "dgxc-15b-h100-64-181", "dgxc-70b-h100-64-021", "dgxc-70b-h100-256-025",
        "dgxc-175b-h100-256-139", "dgxc-175b-h100-1024-143", "dgxc-340b-h100-256-241", "dgxc-340b-h100-1024-245",
        "dgxc-405b-h100-128-049", "dgxc-405b-h100-512-051", "dgxc-405b-h100-2048-055"]
SPACE = ["--vary", "parallelism.schedule=1f1b,interleaved", "--vary", "parallelism.zero=0,1"]
# The authors held this fixed in these runs.
FULL = ["--vary", "training.recompute=full", "--vary", "parallelism.sequence=false"]
SELECTIVE = ["--vary", "training.recompute=selective", "--vary", "parallelism.sequence=true"]
FIXED = {"korthikanti-22b-full": FULL, "korthikanti-175b-full": FULL, "megatron-gpt3-175b": FULL,
         "korthikanti-22b-selective": SELECTIVE, "korthikanti-175b-selective": SELECTIVE}
PROGRAM = os.path.abspath(sys.argv[1])


def tsim(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout else {}


def plan_text(p, training):
    data = f", data {p['data']}" if p.get("data") not in (None, "auto") else ""
    chunks = f" x {p['virtual_pipeline']}" if p.get("virtual_pipeline", 1) > 1 else ""
    context = f", context {p['context']}" if p.get("context", 1) > 1 else ""
    recompute = training["recompute"] if isinstance(training["recompute"], str) else "parts"
    return (f"tensor {p['tensor']}, pipeline {p['pipeline']}{chunks}{context}{data}, ZeRO {p['zero']}, "
            f"micro-batch {training['micro_batch_size']}, recompute {recompute}")


def axes(name):
    """Returns what may vary in a run's space: path to values."""
    words = SPACE + FIXED.get(name, [])
    return dict(word.split("=", 1) for word in words if word != "--vary")


def best_with(name, fixed):
    """Step time of the best plan where some keys have one value."""
    words = [word for path, values in (axes(name) | fixed).items() for word in ("--vary", f"{path}={values}")]
    found = tsim("plan", f"scenarios/published/{name}.yaml", "--json", "--quiet", *words)
    return found["best"][0]["summary"]["step"]["time_s"] if found.get("best") else None


KEYS = {"tensor": "parallelism.tensor", "pipeline": "parallelism.pipeline", "chunks": "parallelism.virtual_pipeline",
        "ZeRO": "parallelism.zero", "micro-batch": "training.micro_batch_size"}


def differences(name):
    """Returns how much longer the best plan with one thing as published takes; nothing for a run within 3 %."""
    file = f"scenarios/published/{name}.yaml"
    own = tsim("run", file, "--json", "--no-db", "--quiet", "--ignore-memory")["step"]["time_s"]
    scenario, best = tsim("check", file, "--json"), best_with(name, {})
    if not best or own <= 1.03 * best:
        return []
    cells = []
    for path in KEYS.values():
        section, key = path.split(".")
        value = scenario[section].get(key, 1)
        kept = best_with(name, {path: value})
        cells.append(f"{value}: {100 * (kept / best - 1):+.1f} %" if kept else f"{value}: none fits")
    return [f"| {name} | {100 * (own / best - 1):+.1f} % | " + " | ".join(cells) + " |"]


TERMS = {"computation": ("step", "compute_s"), "recomputation": ("step", "recompute_s"), "bubble": ("step", "bubble_s"),
         "exposed tensor": ("communication_exposed", "tensor_s"), "exposed stages": ("communication_exposed", "pipeline_s"),
         "exposed data": ("communication_exposed", "data_s"), "exposed context": ("communication_exposed", "context_s"),
         "optimizer": ("step", "optimizer_s")}


def causes(name):
    """Each term of the published plan's step less the best plan's, of the best plan's step; nothing within 3 %."""
    file = f"scenarios/published/{name}.yaml"
    own = tsim("run", file, "--json", "--no-db", "--quiet", "--ignore-memory")
    found = tsim("plan", file, "--json", "--quiet", *SPACE, *FIXED.get(name, []))
    if not found.get("best"):
        return []
    best = found["best"][0]["summary"]
    step, low = best["step"]["time_s"], own["uncertainty"]["step_time_low_s"]
    if own["step"]["time_s"] <= 1.03 * step:
        return []
    cells = [f"{100 * (own[part].get(key, 0) - best[part].get(key, 0)) / step:+.1f} %" for part, key in TERMS.values()]
    return [f"| {name} | {100 * (own['step']['time_s'] / step - 1):+.1f} % | " + " | ".join(cells) +
            f" | {100 * (1 - low / own['step']['time_s']):.1f} % |"]


def row(name):
    file = f"scenarios/published/{name}.yaml"
    space = SPACE + FIXED.get(name, [])
    own, scenario = tsim("run", file, "--json", "--no-db", "--quiet", "--ignore-memory"), tsim("check", file, "--json")
    found = tsim("plan", file, "--json", "--quiet", *space)
    if not found.get("best"):
        return f"| {name} | {own['step']['time_s']:.2f} s | - | - | no plan fits |"
    best = found["best"][0]
    keys = {path.split(".")[1]: value for path, value in best["set"].items()}
    ours, theirs = best["summary"]["step"]["time_s"], own["step"]["time_s"]
    fits = "" if own["memory"]["fits"] else " (does not fit)"
    return (f"| {name} | {plan_text(scenario['parallelism'], scenario['training'])} | {theirs:.2f} s{fits} | "
            f"{plan_text(keys, keys | {'recompute': keys.get('recompute', 'parts')})} | {ours:.2f} s | "
            f"{100 * (theirs / ours - 1):+.1f} % |")


def improved():
    """Rows measured from the day on at which the machine was improved (25 February 2022, says their source)."""
    with open("tools/published/runs.csv", encoding="utf-8") as file:
        dates = {row["id"]: re.search(r"date (\d\d-\d\d)", row["notes"]) for row in csv.DictReader(file)}
    return {name[-3:] for name, date in dates.items()
            if name.startswith(("bs-", "bloom-")) and (not date or date[1] >= "02-25")}


def bloom():
    measured, predicted = {}, {}
    late, groups = improved(), {False: [], True: []}
    for file in sorted(glob.glob("scenarios/published/bloom*.yaml")):
        if re.search(r"^  doubtful: ", pathlib.Path(file).read_text(encoding="utf-8"), re.M):
            continue
        scenario, result = tsim("check", file, "--json"), tsim("run", file, "--json", "--no-db", "--quiet")
        flops = result["model"]["step_model_flops"] / result["accelerators"]  # else the number of them would rank the runs
        plan = json.dumps([scenario[part] for part in ("model", "cluster", "parallelism", "training")], sort_keys=True)
        error = [m for m in result["measured"] if m["metric"] == "step_time"][0]
        measured.setdefault(plan, []).append(flops / error["measured"])
        predicted[plan] = flops / error["predicted"]
        groups[file[-8:-5] in late].append((flops / error["measured"], flops / error["predicted"]))
    runs = [(m, predicted[plan]) for plan, list_ in measured.items() for m in list_]
    means = [(sum(list_) / len(list_), predicted[plan]) for plan, list_ in measured.items()]
    return [f"Spearman's correlation of measured and predicted FLOP/s of a GPU: {spearman(*zip(*runs)):.2f} over {len(runs)} runs, "
            f"{spearman(*zip(*means)):.2f} over their {len(means)} different configurations; "
            f"{spearman(*zip(*groups[False])):.2f} over the {len(groups[False])} before the machine was improved, "
            f"{spearman(*zip(*groups[True])):.2f} over the {len(groups[True])} after."]


def main():
    if "--ranks" in sys.argv:
        print("\n".join(bloom()))
        return
    lines = ["| run | published plan | tsim | best plan found | tsim | published takes |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [row(name) for name in RUNS] + [""]
    lines += ["The next table is for published plans that take over 3 % longer than the best one found. Each column keeps one thing as "
              "published and leaves the rest to the search; the figure is how much longer the best such plan takes than the best of all.", "",
              "| run | all as published | " + " | ".join(KEYS) + " |", "| --- " * (len(KEYS) + 2) + "|"]
    lines += [line for name in RUNS for line in differences(name)] + [""]
    lines += ["The parts of the step that make these published plans longer, as shares of the best plan's step. The last column is how "
              "much shorter than predicted the published plan's step may be, by its interval.", "",
              "| run | longer | " + " | ".join(TERMS) + " | its interval |", "| --- " * (len(TERMS) + 3) + "|"]
    lines += [line for name in RUNS for line in causes(name)] + [""] + bloom()
    text = "\n".join(lines)
    if "--write" not in sys.argv:
        print(text)
        return
    page = open("docs/plans.md", encoding="utf-8").read()
    before, rest = page.split("<!-- plans -->\n", 1)
    after = rest.split("<!-- /plans -->", 1)[1]
    open("docs/plans.md", "w", encoding="utf-8").write(f"{before}<!-- plans -->\n{text}\n<!-- /plans -->{after}")


os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
main()
