#!/usr/bin/env python3
"""Runs of scenarios/compared, or of FILES, beside what was measured: tools/compared.py TSIM [FILE...] prints case, accelerator,
error of the step time (predicted over measured, less 1) and whether the interval of `tsim run` holds the measured one, as CSV."""
import csv
import json
import pathlib
import subprocess
import sys


def tsim(*words):
    return subprocess.run([sys.argv[1], *words, "--quiet"], check=True, capture_output=True, text=True).stdout


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "scenarios" / "compared"
    listed = sys.argv[2:] or sorted(str(file) for file in folder.glob("*.yaml"))
    files = {pathlib.Path(file).stem: file for file in listed}
    print("case,accelerator,error,inside")
    for row in csv.DictReader(tsim("validate", *files.values(), "--residuals").splitlines()):
        summary = json.loads(tsim("run", files[row["case"]], "--no-db", "--json"))
        interval, ratio = summary["uncertainty"], float(row["measured_over_predicted"])
        inside = interval["step_time_low_s"] <= ratio * summary["step"]["time_s"] <= interval["step_time_high_s"]
        print(f"{row['case']},{row['accelerator']},{1 / ratio - 1:.4f},{'yes' if inside else 'no'}")


main()
