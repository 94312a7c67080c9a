#!/usr/bin/env python3
"""Runs of scenarios/compared beside what was measured: tools/compared.py TSIM prints case, accelerator, error of the step
time (predicted over measured, less 1) and whether the interval of `tsim run` holds the measured one, as CSV."""
import json
import pathlib
import subprocess
import sys


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    print("case,accelerator,error,inside")
    for file in sorted((root / "scenarios" / "compared").glob("*.yaml")):
        command = [sys.argv[1], "run", str(file), "--no-db", "--quiet", "--json"]
        summary = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        measured = summary["measured"][0]
        predicted_s = summary["step"]["time_s"]
        measured_s = predicted_s * (1 + measured["error"])  # a rate is too high by as much as the time is too short
        inside = summary["uncertainty"]["step_time_low_s"] <= measured_s <= summary["uncertainty"]["step_time_high_s"]
        accelerator = next(word for word in file.stem.split("-") if word in ("b200", "b300", "gb200", "gb300"))
        print(f"{file.stem},{accelerator},{predicted_s / measured_s - 1:.4f},{'yes' if inside else 'no'}")


main()
