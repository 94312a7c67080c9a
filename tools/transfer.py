#!/usr/bin/env python3
"""Does one sustained matrix rate hold for all who measured? python3 tools/transfer.py TSIM > hardware/calibration/transfer.csv

For A100 and for H100: the rate of 16-bit products is fitted to the runs of one source alone (so that the median of its errors
is zero), everything else as in the catalogue, and the runs of all other sources are predicted with it. A line for each source
that has at least three runs of 16 bits."""
import csv
import glob
import io
import math
import re
import statistics
import subprocess
import sys

KEY = "cluster.node.accelerator.efficiency.matrix_sustained."
ACCELERATORS = {"A100": ("a100-40gb", "a100-80gb"), "H100": ("h100-sxm",)}
FACTORS = (0.85, 1.0, 1.15)
LEAST_RUNS = 3


def runs_of(accelerators):
    """Scenarios of the committed residuals: 16 bits, these accelerators."""
    with open("hardware/calibration/residuals.csv", encoding="utf-8") as file:
        return {f"scenarios/published/{r['case']}.yaml": r["source"] for r in csv.DictReader(file)
                if r["accelerator"] in accelerators and r["precision"] in ("bf16", "fp16")}


def rate_of(tsim, accelerator):
    text = subprocess.run([tsim, "show", f"accelerator/{accelerator}"], capture_output=True, text=True, check=True).stdout
    return float(re.search(r"matrix_sustained\.bf16 +([0-9.]+)", text)[1])


def log_errors(tsim, files, rate):
    """ln(predicted / measured step time) by file."""
    sets = [word for p in ("bf16", "fp16") for word in ("--set", f"{KEY}{p}={rate}")]
    done = subprocess.run([tsim, "validate", *files, "--no-db", "--csv", *sets], capture_output=True, text=True, check=False)
    errors = {}
    for row in csv.DictReader(io.StringIO(done.stdout)):
        if row["status"] == "ok" and not row["metric"].startswith("memory_"):
            sign = -1 if re.search("_per_s|mfu|hfu|tflops", row["metric"]) else 1
            errors[row["file"]] = sign * math.log1p(float(row["error"]))
    return errors


def between(by_factor, file, factor):
    """Error at a factor, linear in its logarithm between those that were simulated."""
    low, high = (0, 1) if factor < FACTORS[1] else (1, 2)
    at = math.log(factor / FACTORS[low]) / math.log(FACTORS[high] / FACTORS[low])
    return by_factor[low][file] * (1 - at) + by_factor[high][file] * at


def fit(by_factor, files):
    low, high = 0.8, 1.25
    for _ in range(40):
        middle = math.sqrt(low * high)
        if statistics.median(between(by_factor, f, middle) for f in files) > 0:
            low = middle
        else:
            high = middle
    return middle


def mean_error(errors):
    return statistics.mean(abs(math.expm1(e)) for e in errors)


def main(tsim):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["accelerator", "fitted_on", "runs", "sustained", "own_error", "others", "others_error", "others_bias",
                  "others_error_catalogue"])
    for name, accelerators in ACCELERATORS.items():
        sources, rate = runs_of(accelerators), rate_of(tsim, accelerators[-1])
        by_factor = [log_errors(tsim, list(sources), rate * f) for f in FACTORS]
        files = [f for f in sources if all(f in errors for errors in by_factor)]
        for source in sorted(set(sources.values())):
            own, others = ([f for f in files if (sources[f] == source) == mine] for mine in (True, False))
            if len(own) < LEAST_RUNS:
                continue
            factor = fit(by_factor, own)
            there = [between(by_factor, f, factor) for f in others]
            out.writerow([name, source, len(own), f"{rate * factor:.3f}", f"{mean_error(between(by_factor, f, factor) for f in own):.4f}",
                          len(others), f"{mean_error(there):.4f}", f"{statistics.mean(map(math.expm1, there)):.4f}",
                          f"{mean_error(by_factor[1][f] for f in others):.4f}"])


main(sys.argv[1])
