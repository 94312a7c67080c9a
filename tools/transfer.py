#!/usr/bin/env python3
"""Does one sustained matrix rate hold for all who measured? python3 tools/transfer.py TSIM FOLDER

Writes two tables into FOLDER, for the products of 16 bits on A100 (of 80 GB) and H100 and of fp8 on H100. transfer.csv: the rate is fitted to
the runs of one source alone (so that the median of their errors is zero), everything else as in the catalogue, and the runs of all
other sources are predicted with it; a line for each source that has at least three runs. held-out.csv: the other way round, each
source is predicted with the rate that all others give; a line for each kind of products."""
import csv
import io
import math
import pathlib
import re
import statistics
import subprocess
import sys

KEY = "cluster.node.accelerator.efficiency.matrix_sustained."
KINDS = {"A100 of 80 GB in 16 bits": (("a100-80gb",), ("bf16", "fp16")), "H100 in 16 bits": (("h100-sxm",), ("bf16", "fp16")),
         "H100 in fp8": (("h100-sxm",), ("fp8",))}
FACTORS = (0.85, 1.0, 1.15)
LEAST_RUNS = 3


def runs_of(accelerators, precisions):
    """Scenarios of the committed residuals with their sources."""
    with open("hardware/calibration/residuals.csv", encoding="utf-8") as file:
        return {f"scenarios/published/{r['case']}.yaml": r["source"] for r in csv.DictReader(file)
                if r["accelerator"] in accelerators and r["precision"] in precisions and r["model"] != "rounds"}


def rate_of(tsim, accelerator, precision):
    text = subprocess.run([tsim, "show", f"accelerator/{accelerator}"], capture_output=True, text=True, check=True).stdout
    return float(re.search(rf"matrix_sustained\.{precision} +([0-9.]+)", text)[1])


def log_errors(tsim, files, precisions, rate):
    """ln(predicted / measured step time) by file."""
    sets = [word for p in precisions for word in ("--set", f"{KEY}{p}={rate}")]
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


def by_source(sources, files, source):
    """Its own runs, and those of the others."""
    return [f for f in files if sources[f] == source], [f for f in files if sources[f] != source]


def transfers(name, rate, sources, by_factor, files):
    for source in sorted(set(sources.values())):
        own, others = by_source(sources, files, source)
        if len(own) < LEAST_RUNS:
            continue
        factor = fit(by_factor, own)
        there = [between(by_factor, f, factor) for f in others]
        yield [name, source, len(own), f"{rate * factor:.3f}", f"{mean_error(between(by_factor, f, factor) for f in own):.4f}",
               len(others), f"{mean_error(there):.4f}", f"{statistics.mean(map(math.expm1, there)):.4f}",
               f"{mean_error(by_factor[1][f] for f in others):.4f}"]


def held_out(name, rate, sources, by_factor, files):
    factors, errors = [], []
    for source in sorted(set(sources.values())):
        own, others = by_source(sources, files, source)
        factors.append(fit(by_factor, others))
        errors += [between(by_factor, f, factors[-1]) for f in own]
    return [name, len(factors), len(errors), f"{rate * min(factors):.3f}", f"{rate * max(factors):.3f}", f"{mean_error(errors):.4f}",
            f"{statistics.mean(map(math.expm1, errors)):.4f}", f"{mean_error(by_factor[1][f] for f in files):.4f}"]


def main(tsim, folder):
    folder = pathlib.Path(folder)
    with open(folder / "transfer.csv", "w", encoding="utf-8") as first, open(folder / "held-out.csv", "w", encoding="utf-8") as second:
        one, other = csv.writer(first, lineterminator="\n"), csv.writer(second, lineterminator="\n")
        one.writerow(["products", "fitted_on", "runs", "sustained", "own_error", "others", "others_error", "others_bias",
                      "others_error_catalogue"])
        other.writerow(["products", "sources", "runs", "least_sustained", "most_sustained", "error", "bias", "error_catalogue"])
        for name, (accelerators, precisions) in KINDS.items():
            sources, rate = runs_of(accelerators, precisions), rate_of(tsim, accelerators[-1], precisions[0])
            by_factor = [log_errors(tsim, list(sources), precisions, rate * f) for f in FACTORS]
            files = [f for f in sources if all(f in errors for errors in by_factor)]
            one.writerows(transfers(name, rate, sources, by_factor, files))
            other.writerow(held_out(name, rate, sources, by_factor, files))


main(*sys.argv[1:])
