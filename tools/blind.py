#!/usr/bin/env python3
"""Records what a version of tsim predicts of runs that it has not been compared with yet: tools/blind.py TSIM COMMIT FILE... adds a
row for each scenario with a measured speed to hardware/calibration/blind.csv, unless a run of that name is there. A row is never
written again: the first prediction stands, whatever is learnt from the run afterwards.

Rates are turned into times of a step, so that a plus is always "predicted too slow". `low_s` and `high_s` are the interval
that `tsim run` printed. A run that was predicted not to fit in memory, though it ran, has no predicted time.

blind-residuals.csv beside it says of those that have one what they are, in the columns of residuals.csv, for `tsim calibrate intervals`."""

import csv
import datetime
import io
import json
import pathlib
import subprocess
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "hardware/calibration/blind.csv"
TRAITS = TABLE.with_name("blind-residuals.csv")
COLUMNS = ["run", "recorded", "commit", "accelerator", "kind", "accelerators", "measured_s", "predicted_s", "low_s", "high_s"]
SPEEDS = ["step_time", "tokens_per_s_per_gpu", "tokens_per_s", "samples_per_s", "model_tflops_per_gpu", "hardware_tflops_per_gpu", "mfu", "hfu"]


def summary(tsim, file, *options):
    out = subprocess.run([tsim, "run", file, "--no-db", "--quiet", "--json", *options], capture_output=True, text=True)
    return json.loads(out.stdout) if out.stdout else None


def kind(scenario):
    model = scenario["model"]
    if model["kind"] != "transformer":
        return model["kind"]
    if scenario["training"].get("adapter", {}).get("kind", "none") != "none":
        return "with adapters"
    if model.get("diffusion"):
        return "diffusion transformer"
    return "mixture of experts" if model.get("experts", {}).get("count", 0) > 1 else "dense transformer"


def row(tsim, version, file):
    fits = summary(tsim, file)
    full = fits if fits and fits["status"] == "ok" else summary(tsim, file, "--ignore-memory")
    checked = json.loads(subprocess.run([tsim, "check", file, "--json"], capture_output=True, text=True).stdout)
    scenario = checked[0] if isinstance(checked, list) else checked
    measured = {m["metric"]: m for m in full.get("measured", [])}
    for metric in SPEEDS:
        if metric in measured:
            break
    else:
        return None
    predicted_s = full["step"]["time_s"]
    ratio = measured[metric]["predicted"] / measured[metric]["measured"]
    measured_s = predicted_s / ratio if metric == "step_time" else predicted_s * ratio
    interval = full.get("uncertainty", {}) if fits["status"] == "ok" else {}
    digits = lambda value: "" if value is None else f"{value:.4g}"
    return {
        "run": full["scenario"],
        "recorded": datetime.date.today().isoformat(),
        "commit": version,
        "accelerator": scenario["cluster"]["node"]["accelerator"]["name"],
        "kind": kind(scenario),
        "accelerators": full["accelerators"],
        "measured_s": digits(measured_s),
        "predicted_s": digits(predicted_s if fits["status"] == "ok" else None),
        "low_s": digits(interval.get("step_time_low_s")),
        "high_s": digits(interval.get("step_time_high_s")),
    }


def traits(tsim, file, recorded):
    """The run's row of residuals, with what was recorded of it; None where it has no predicted time."""
    out = subprocess.run([tsim, "validate", file, "--no-db", "--residuals"], capture_output=True, text=True).stdout
    found = list(csv.DictReader(io.StringIO(out)))
    if not found or not recorded["predicted_s"]:
        return None
    predicted_s = float(recorded["predicted_s"])
    ratio = lambda key: f"{float(recorded[key]) / predicted_s:.4f}" if recorded[key] else "nan"
    return found[0] | {"measured_over_predicted": ratio("measured_s"), "low": ratio("low_s"), "high": ratio("high_s"), "step_time_s": recorded["predicted_s"]}


def write(table, columns, rows, key):
    rows.sort(key=lambda r: r[key])
    with table.open("w", newline="") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    tsim, version, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    rows = list(csv.DictReader(TABLE.open())) if TABLE.exists() else []
    known = list(csv.DictReader(TRAITS.open())) if TRAITS.exists() else []
    there = {r["run"] for r in rows}
    for file in files:
        new = row(tsim, version, file)
        if new and new["run"] not in there:
            rows.append(new)
            known += [t for t in [traits(tsim, file, new)] if t]
    write(TABLE, COLUMNS, rows, "run")
    if known:
        write(TRAITS, list(known[0]), known, "case")


if __name__ == "__main__":
    main()
