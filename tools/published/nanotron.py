#!/usr/bin/env python3
"""tsim's order of nanotron's measured plans: python3 tools/published/nanotron.py TSIM [--write]

For each model and number of nodes in nanotron.csv: the rank correlation (Spearman) of predicted and measured throughput
over the plans that are at least half as fast as the fastest, what is lost by taking the plan that tsim puts first of those
that it says fit, and the error of the fastest plan's step time. --write puts the table between its marks in docs/plans.md
and the fastest plans of up to 32 nodes whose MFU is at least a quarter into scenarios/compared."""
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from ranking import spearman

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# scaling_benchmarks.py has these: layers, hidden size, heads, MLP; one table for input and output below 4 billion.
MODELS = {"1.34": (16, 2048, 32, 8192, True), "3.57": (28, 3072, 32, 8192, True), "8.86": (32, 4096, 32, 14336, False),
          "80": (80, 8192, 64, 28672, False)}
SEQUENCE = 4096


def scenario(row, name):
    layers, hidden, heads, ffn, tied = MODELS[row["parameters"]]
    nodes, tensor, pipeline = int(row["nodes"]), int(row["tensor"]), int(row["pipeline"])
    batch = int(row["micro_batch"]) * int(row["accumulation"]) * int(row["data"])
    return f"""# Written by tools/published/nanotron.py from tools/published/nanotron.csv.
schema: tsim/v1
name: {name}
model: {{schema: tsim/model/v1, name: llama-{row["parameters"]}b, kind: transformer, layers: {layers}, hidden: {hidden}, heads: {heads}, kv_heads: {heads}, ffn_hidden: {ffn}, vocab: 131072, gated_mlp: true, norm: rmsnorm, position: rope, tied_embeddings: {str(tied).lower()}}}
cluster: {{node: dgx-h100, nodes: {nodes}{", fabric: efa-400" if nodes > 1 else ""}}}
training: {{sequence_length: {SEQUENCE}, global_batch_size: {batch}, micro_batch_size: {row["micro_batch"]}, precision: bf16, gradient_precision: fp32, optimizer: adam, recompute: none}}
software: nanotron-2025
parallelism: {{tensor: {tensor}, pipeline: {pipeline}, schedule: 1f1b{", layers_per_stage: balance" if pipeline > 1 else ""}{", sequence: true" if tensor > 1 else ""}, zero: {row["zero"]}}}
measured:
  source: "nanotron@0e0a27e scripts/scaling_benchmarks.py, through nanotron-ultrascale-playbook@e3bcfc5 fragments/benchmarks_interactive.html"
  tokens_per_s_per_gpu: {row["tokens_per_s"]}
"""


def predict(folder, index, row):
    """Tokens/s of an accelerator and whether it fits; None where tsim cannot split the layers so."""
    file = os.path.join(folder, f"{index}.yaml")
    pathlib.Path(file).write_text(scenario(row, f"plan-{index}"), encoding="utf-8")
    done = subprocess.run([PROGRAM, "run", file, "--no-db", "--json", "--quiet", "--ignore-memory"], capture_output=True,
                          text=True, check=False)
    if not done.stdout:
        return None
    result = json.loads(done.stdout)
    error = [m for m in result["measured"] if m["metric"] == "tokens_per_s_per_gpu"][0]
    return error["predicted"], result["memory"]["fits"], result["throughput"]["mfu"] * error["measured"] / error["predicted"]


def plan_text(row):
    return (f"{row['tensor']} x {row['pipeline']} x {row['data']}, ZeRO {row['zero']}, micro-batch {row['micro_batch']}")


def panel(rows):
    """A line of the table, the fastest plan and its MFU."""
    fastest = max(rows, key=lambda r: r[0]["measured"])
    near = [r for r in rows if r[0]["measured"] >= fastest[0]["measured"] / 2]
    first = max((r for r in rows if r[2]), key=lambda r: r[1])
    lost = 1 - first[0]["measured"] / fastest[0]["measured"]
    order = spearman([r[0]["measured"] for r in near], [r[1] for r in near]) if len(near) >= 10 else None
    error = fastest[0]["measured"] / fastest[1] - 1
    row = fastest[0]
    line = (f"| {row['parameters']} B | {row['nodes']} | {len(rows)} | {len(near)} | {'-' if order is None else f'{order:.2f}'} | "
            f"{plan_text(row)} | {100 * fastest[3]:.0f} % | {100 * error:+.0f} % | "
            f"{'the same' if lost == 0 else plan_text(first[0])} | {100 * lost:.0f} % |")
    return line, row, fastest[3]


def main():
    with open(HERE / "nanotron.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor() as pool:
        predicted = list(pool.map(lambda job: predict(folder, *job), enumerate(rows)))
    panels = collections.defaultdict(list)
    for row, result in zip(rows, predicted):
        if result:
            row["measured"] = float(row["tokens_per_s"])
            panels[(row["parameters"], int(row["nodes"]))].append((row, *result))
    done = [panel(panels[key]) for key in sorted(panels, key=lambda key: (float(key[0]), key[1]))]
    text = "\n".join(["| model | nodes | plans | half as fast | Spearman | fastest plan, measured | MFU | its step, predicted | tsim's first | loses |",
                      "| --- " * 10 + "|", *(line for line, _, _ in done)])
    if "--write" not in sys.argv:
        print(text)
        return
    page = (ROOT / "docs/plans.md").read_text(encoding="utf-8")
    before, rest = page.split("<!-- nanotron -->\n", 1)
    after = rest.split("<!-- /nanotron -->", 1)[1]
    (ROOT / "docs/plans.md").write_text(f"{before}<!-- nanotron -->\n{text}\n<!-- /nanotron -->{after}", encoding="utf-8")
    for old in (ROOT / "scenarios/compared").glob("nanotron-*.yaml"):
        old.unlink()
    for _, row, mfu in done:
        if mfu >= 0.25:
            name = f"nanotron-{row['parameters']}b-h100-{8 * int(row['nodes'])}"
            (ROOT / f"scenarios/compared/{name}.yaml").write_text(scenario(row, name), encoding="utf-8")


PROGRAM = os.path.abspath(sys.argv[1])
main()
