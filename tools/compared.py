#!/usr/bin/env python3
"""Runs of scenarios/compared, or of FILES, beside what was measured: tools/compared.py TSIM [FILE...] prints case, accelerator,
metric, error (predicted over measured time, less 1) and whether the interval of `tsim run` holds the measured one, as CSV. The metric
is the step's time, whichever speed was measured, or the throughput of generation, which has no interval."""
import csv
import json
import pathlib
import subprocess
import sys


def tsim(*words):
    return subprocess.run([sys.argv[1], *words, "--quiet"], check=True, capture_output=True, text=True).stdout


def of_step(summary, ratio):
    interval = summary["uncertainty"]
    return "step_time", ratio, interval["step_time_low_s"] <= ratio * summary["step"]["time_s"] <= interval["step_time_high_s"]


def of_generation(summary):
    measured = summary["measured"][0]
    return measured["metric"], measured["predicted"] / measured["measured"], None


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "scenarios" / "compared"
    listed = sys.argv[2:] or sorted(str(file) for file in folder.glob("*.yaml"))
    files = {pathlib.Path(file).stem: file for file in listed}
    speeds = {row["case"]: row for row in csv.DictReader(tsim("validate", *files.values(), "--residuals").splitlines())}
    print("case,accelerator,metric,error,inside")
    for case, file in files.items():
        summary = json.loads(tsim("run", file, "--no-db", "--json"))
        metric, ratio, inside = of_step(summary, float(speeds[case]["measured_over_predicted"])) if case in speeds else of_generation(summary)
        accelerator = speeds[case]["accelerator"] if case in speeds else json.loads(tsim("check", file, "--json"))["cluster"]["node"]["accelerator"]["name"]
        print(f"{case},{accelerator},{metric},{1 / ratio - 1:.4f},{'' if inside is None else 'yes' if inside else 'no'}")


main()
