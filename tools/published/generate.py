#!/usr/bin/env python3
"""Writes scenarios/published/*.yaml from runs.csv, one file a run: tools/published/generate.py (from anywhere).

runs.csv is a table of published measurements with their configurations. Where a row leaves something open, it is decided here, once per
source and never per row, and written into the file: which software profile, which node and fabric, what ZeRO and the
gradients are. Files that no row stands behind (written by hand, with more said about the recipe) are left alone."""
import csv
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "scenarios" / "published"

# Rows whose own source or siblings contradict them: kept, and named.
DOUBTFUL = {
    **{f"mpt-{n}": "it ran at the memory limit, or it is far from its siblings in the same table"
       for n in (202, 358, 361, 418, 427, 430, 445, 448, 451, 535, 701, 734)},
    # 19 sequences of 512 tokens in fp32 on a V100 are 6 x 302 M x 512 x 19 = 17.6 TFLOP/s without attention and head;
    # its peak is 15.7. The table's other rows of 512 tokens are as far from those of 128.
    **{f"dle-{n}": "by this row a V100 in fp32 would exceed its peak, and the table's rows of 512 tokens are alike"
       for n in ("041", "042", "073", "074")},
    **{f"rocm-{n}": "it is a figure for comparison in a report about software that is too slow, and its batch is not stated"
       for n in (2, 3)},
    "bs-062": "112 heads took a ninth to a seventh longer than 64 and 128, whose products are as large and as aligned",
    "bs-071": "96 heads took an eighth to a sixth longer than 64 and 128, whose products are as large and as aligned",
    "bs-209": "it took 76 of 80 GB, which the page calls too close to the end of memory",
    "bs-073": "1,568 samples took as long as 2,048 of the same plan in the row below",
    "bs-095": "micro-batches of 1 took 43 % longer than of 2; in the page's other tables it is 4 to 9 %",
    "bs-106": "micro-batches of 4 took a fifth longer than of 2; with half the heads, and the same rows of products, they took as long",
    "bs-129": "104 heads took a seventh longer than 64 and 128, whose products are as large and as aligned",
    "neuron-5": "to be met, products would have to reach 0.97 of the fp32 peak: the compiler may have cast them",
    "maxtext-010": "the same repository states 54.24, 55.35 and 64.05 % of the peak for it",
}
# A row of grade B leaves these open, and they have one sensible value; the comment goes into the file.
MEGATRON_2021 = "Not stated: {}. Table 2 of the same paper has micro-batches of 1 on pipelines of the same models."
ASSUMED = {
    "meg21t1-001": ({"micro_batch": 4}, "The micro-batch is not stated: 4 assumed; 2 and 16 are 1 % slower and faster."),
    "meg21t1-003": ({"micro_batch": 4}, "The micro-batch is not stated: 4 assumed; 2 and 16 are 3 % slower and 2 % faster."),
    "meg21t1-005": ({"micro_batch": 1, "vpp": 2}, MEGATRON_2021.format("micro-batch (1) and chunks of a stage (2)")),
    "meg21t1-007": ({"micro_batch": 1, "vpp": 5}, MEGATRON_2021.format("micro-batch (1) and chunks of a stage (5)")),
    "meg21t1-009": ({"micro_batch": 1, "vpp": 3}, MEGATRON_2021.format("micro-batch (1) and chunks of a stage (3)")),
    "meg21t2-007": ({"vpp": 2}, "Chunks of a stage are not stated: 2 assumed; 1 is 1 to 5 % slower."),
    "meg21t2-011": ({"vpp": 3}, "Chunks of a stage are not stated: 3 of the 3 layers assumed; 1 is up to 5 % slower."),
    **{f"megascale-{n}": ({"micro_batch": 1, "recompute": "selective"},
                          "Micro-batch and recomputation are not stated: 1 and selective, as Korthikanti et al. 2022 ran this "
                          "model with the same framework.") for n in ("001", "007", "017")},
    "automodel-028": ({"recompute": "full"}, "Recomputation is not stated: nothing less than full fits."),
    "fatrain-001": ({"micro_batch": 16}, "Micro-batch and sharding are not stated: 16 and ZeRO-1; 8 is 1 % slower."),
    "fatrain-004": ({"micro_batch": 16}, "Micro-batch and sharding are not stated: 16 and ZeRO-1; 8 is as fast."),
}
NODES = {"A100-SXM4-80GB": "dgx-a100", "A100-SXM-80GB": "dgx-a100", "A100-SXM4-40GB": "dgx-a100-40gb",
         "H100-SXM5-80GB": "dgx-h100", "A100-80GB-class Ampere": "dgx-a100", "A100-SXM4-80GB (400W)": "dgx-a100",
         "H100 96GB HBM2e 2.4TB/s, 500W cap (Grand Teton)": "{extends: dgx-h100, accelerator: {extends: h100-sxm, "
                                                            "memory: 96 GB, memory_bandwidth: 2.4 TB/s, power: {cap: 500 W}}}",
         "Gaudi2": "gaudi2-hls", "Trainium1": "trn1-32xlarge", "MI300X": "mi300x-node",
         "GC200": "{extends: ipu-pod4, accelerators: 16}", "TPUv5e": "tpu-v5e-host", "TPUv5p": "tpu-v5p-host",
         "B200": "dgx-b200", "GB200": "gb200-nvl72", "GB300": "gb300-nvl72"}
# Nodes and fabrics of a source's machine: Jean Zay; AWS p4d, as the paths of Pythia's configurations are those of FSx.
SOURCE_NODES = {"bloom": "{extends: dgx-a100, nics: 4, nic_bandwidth: 100 Gb/s}",
                "bloom before the repair": "{extends: dgx-a100, nics: 2, nic_bandwidth: 100 Gb/s}",
                "pythia": "{extends: dgx-a100-40gb, nics: 4, nic_bandwidth: 100 Gb/s}"}
SOURCE_FABRICS = {"bloom": "omnipath-100", "pythia": "efa-100"}
# Where it is not eight: accelerators of a node (of an NVL72's 72 sixty-four, which sizes divide), and the fabric between nodes.
PER_NODE = {"GB200": 64, "GB300": 64, "Trainium1": 16, "GC200": 16, "TPUv5e": 4, "TPUv5p": 4}
FABRICS = {"B200": "ib-ndr", "GB200": "ib-ndr", "GB300": "ib-xdr", "Gaudi2": "roce-100", "Trainium1": "efa-100", "TPUv5e": "tpu-v5e-torus", "TPUv5p": "tpu-v5p-torus"}
# Sequences of a batch: BERT is trained with LAMB beyond (You et al. 2020, arXiv:1904.00962).
MOST_WITH_ADAM = 32768
# One accelerator of each: NVIDIA's examples. DGX-1 of the 16 GB kind, and a DGX-2.
ALONE = {"A100-SXM4-80GB": "dgx-a100", "V100-SXM2-16GB (DGX-1)": "single-v100-16gb",
         "V100-SXM2-32GB (DGX-1)": "single-v100-32gb", "V100-SXM3-32GB (DGX-2)": "dgx-2"}


# BigScience: "A100s PCI-Express/NUMA was improved today so all TFLOPs have changed for the better (1-5%) - thus do not
# compare today's numbers to yesterday's" (chronicles-prequel.md, 02-25). Two logs of NCCL on the machine (experiments/bandwidth)
# have what enters and leaves a node at its first and fourth accelerator on one adapter, at its eighth on another, and nothing on two
# of the four that it found. They are not dated: that they are of before is inferred, and so is that all four were used after.
# So two are given to rows from before. Nothing was fitted: configurations measured on both sides of the day took 5 to 9 s more
# before, and 6 to 8 are predicted.
BEFORE_REPAIR = re.compile(r"date 02-(1[0-9]|2[0-4])\b")
TWO_ADAPTERS = ("Before 25 February 2022, when the page says PCI Express and NUMA were improved: NCCL's log of this machine "
                "(bigscience@358e3c8 experiments/bandwidth/all_reduce_bench-a100-n4.txt), not dated and taken to be of that time, has two "
                "of a node's four adapters in use.")


def doubt_of(row):
    why = DOUBTFUL.get(row["id"])
    return [f'  doubtful: "{why}"'] if why else []


HABANA_OVERLAP = "overlap: {gradients: false, parameters: false, tensor: false, tensor_backward: true, pipeline: false}"


def variant_of(row, source, software):
    if source == "megatron2021" and "ZeRO-3" in row["zero_stage_or_fsdp"]:
        return "deepspeed-zero3-2021"
    if source == "accelerate" and "DeepSpeed" in row["zero_stage_or_fsdp"]:  # with its defaults
        return mapping({"extends": "transformers-deepspeed-2024", "gather_unit": "product", "gather_ahead": "5e7", "gather_reuse": "1e9"})
    if source == "titan" and "compile" not in row["notes"]:
        return "{extends: torchtitan-2024, fusion: none}"
    # NeMo's scripts/performance of 2025, which dgxc's container of April 2025 (1f6d9f4) runs: --fp8_recipe "defaults to ds"
    graphs = re.search(r"(whole step|layer)s as CUDA graphs", row["notes"])
    keys = {"cuda_graphs": "step" if graphs[1] == "whole step" else "layers"} if graphs else {}
    if source == "nemo" and row["gpu"] == "B200" or "1f6d9f4" in row["source"] or "delayed scaling" in row["notes"]:  # also MLPerf's of GB200
        return mapping({"extends": "megatron-core-2025", "fp8_scaling": "delayed"} | keys)
    if source == "pythia" and "flash attention" in row["notes"]:
        keys["attention_kernel"] = "flash1"
    # their configure.sh turns cuDNN's attention off; that of GPT-3 did when its times were first printed, for twelve chunks a stage
    if source == "grok" or "35a9aec nemotron" in row["source"] or (source == "dgxc" and "GPT" in row["model"]):
        keys["attention_kernel"] = "flash2"
    if source in ("nemo", "dgxc") and "GPT" in row["model"]:  # hidden_dropout and attention_dropout in GPT-3's recipes
        keys["dropout"] = 0.1
    if source == "nemo" and "340B" in row["model"]:  # cross_entropy_loss_fusion: True in its recipe, and in no other one
        keys["cross_entropy"] = "fused"
    if source == "grok" or (source == "dgxc" and "GPT" in row["model"]):  # not in these recipes, and off by default
        keys["cross_entropy"] = "written-out"
    if source == "grok":  # moe_grouped_gemm: false in its recipe
        keys["expert_products"] = "sequential"
    return mapping({"extends": software} | keys) if keys else software


def source_of(row):
    s = row["source"]
    for word, name, software in (("llm-foundry", "mpt", "llm-foundry-2023"), ("grok1", "grok", "megatron-core-2024"),
                                 ("vuiseng9", "vuiseng", "megatron-core-2025"), ("Vultr", "vultr", "megatron-core-2025"),
                                 ("maxtext/README_70b", "jax", "maxtext-2024"),
                                 # NVIDIA's own submissions to MLPerf; Blackwell's of releases 25.04 and 25.09
                                 ("training_results_v4.0", "mlperf", "nemo-2024"), ("training_results_v5.0", "mlperf", "megatron-core-2024"),
                                 ("training_results_v5.1", "mlperf", "megatron-core-2025"), ("dgxc", "dgxc", "megatron-core-2024"),
                                 ("NeMo@", "nemo", "nemo-2024"), ("Zero Bubble", "zero-bubble", "zero-bubble-2023"),
                                 ("bigscience", "bloom", "bloom-2022"), ("2104.04473", "megatron2021", "megatron-2021"),
                                 ("2201.11990", "mtnlg", "megatron-2021"), ("MegaScale", "megascale", "megatron-2022"),
                                 ("NeMo-Automodel", "automodel", "{extends: torchtitan-2024, attention_kernel: cudnn, attention_layout: in-place, context_merge: operands, fusion: te, rotary: by-fusion}"),
                                 ("torchtitan@", "titan", "torchtitan-2024"),
                                 ("flash-attention", "fatrain",
                                  "{extends: torchtitan-2024, attention_kernel: flash1, attention_layout: in-place, fusion: te, "
                                  "rotary: by-fusion, supports: {zero: [0, 1, 2, 3]}}"), ("MxNet", "dle", "mxnet-2020"),
                                 ("DeepLearningExamples", "dle", "apex-2021"),
                                 # DeepSpeed's pipeline on Intel's graph compiler; its fused attention (--use-fused-sdpa) came with release
                                 # 3.1, and Megatron's fused softmax is for CUDA. Gradients are added up after the last micro-batch.
                                 ("training_results_v3.0", "habana",
                                  "{extends: synapse-2023, attention_kernel: unfused, dropout: 0, " + HABANA_OVERLAP + "}"),
                                 ("Intel-HabanaLabs", "habana", "{extends: synapse-2023, dropout: 0, " + HABANA_OVERLAP + "}"),
                                 ("aws-neuron", "neuron", "maxtext-2024"),  # XLA, too
                                 ("Graphcore", "graphcore", "{extends: poplar-2022, dropout: 0.1}"),
                                 ("AI-Hypercomputer", "maxtext", "maxtext-tpu-2023"),
                                 # FSDP of PyTorch 2.2 without compile, which its docs advise against, and AdamW of several
                                 # kernels: counted, 84 bytes a parameter
                                 ("fms-fsdp", "fms", "{extends: torchtitan-2024, fusion: none, rotary: matrix, shard_copies: flat, "
                                  "optimizer_traffic: 84}"),
                                 ("2304.01373", "pythia", "gpt-neox-2023"), ("deepspeed-to-fsdp", "accelerate", "transformers-2024"),
                                 ("ROCm", "rocm", "torchtitan-2024")):  # FSDP and torch.compile
        if word in s:
            return name, variant_of(row, name, software)
    raise SystemExit(f"{row['id']}: no rule for the source {s}")


def fabric_of(row, source):
    if row["gpu"] in FABRICS:
        return FABRICS[row["gpu"]]
    if source == "mpt":
        return "roce-200" if row["gpu"].startswith("A100") else "roce-400"
    if source == "titan" and row["gpu"].startswith("H100"):
        return "roce-400"
    if source in ("zero-bubble", "titan"):
        return "roce-200"
    if source == "fms":  # 400 and 800 Gb/s a node, taken as a port for each of its eight GPUs
        return "{extends: roce-100, bandwidth: 50 Gb/s}" if row["gpu"].startswith("A100") else "roce-100"
    if source in SOURCE_FABRICS:
        return SOURCE_FABRICS[source]
    return "ib-ndr" if row["gpu"].startswith("H100") else "ib-hdr"


def model_of(row, source):
    is_llama = "llama" in row["model"].lower() or source == "maxtext"
    vocab = int(re.sub(r"\D", "", row["vocab"]) or 0) or (32000 if source == "zero-bubble" else 0)
    if source == "bloom":
        vocab = 250880
    keys = {"schema": "tsim/model/v1", "name": re.sub(r"[^a-z0-9.]+", "-", row["model"].lower()).strip("-"),
            "kind": "transformer", "layers": row["layers"], "hidden": row["hidden"], "heads": row["heads"],
            "kv_heads": row["kv_heads"] or row["heads"], "ffn_hidden": row["ffn_hidden"], "vocab": vocab}
    if source == "maxtext":
        keys["head_dim"] = 128
    if is_llama:
        keys |= {"gated_mlp": "true", "norm": "rmsnorm", "position": "rope"}
    elif source == "grok":
        keys |= {"head_dim": 128, "gated_mlp": "true", "norm": "rmsnorm", "position": "rope",
                 "experts": "{count: 8, active: 2, ffn_hidden: 32768, capacity_factor: 1}"}
    elif source == "fatrain":
        keys |= {"norm": "layernorm", "position": "rope", "bias": "true", "tied_embeddings": "true"}
    elif source == "pythia":
        keys |= {"norm": "layernorm", "position": "rope", "rotary_share": 0.25, "bias": "true", "parallel_block": "true",
                 "parallel_norms": "true"}
    elif "nemotron" in row["model"].lower():
        keys |= {"norm": "layernorm", "position": "rope"}
    elif source == "bloom":
        keys |= {"norm": "layernorm", "position": "alibi", "bias": "true", "tied_embeddings": "true"}
    else:
        keys |= {"norm": "layernorm", "position": "learned", "positions": row["seq_len"], "bias": "true",
                 "tied_embeddings": "true"}
    return keys


def stages_of(row):
    """BLOOM's, where they differ: as many layers on each as there are, and the rest on the last; or an embedding counts as a layer."""
    layers, stages = int(row["layers"]), int(row["pp"])
    if "embedding gets own slot" in row["notes"]:
        each = (layers + 2) // stages
        return [each - 1] + [each] * (stages - 2) + [each - 1]
    each = -(-layers // stages)
    return [min(each, max(layers - each * i, 0)) for i in range(stages)]


def gradients_of(row, source):
    if source == "mpt":
        return "bf16" if "PURE" in row["notes"] else "fp32"
    if source == "bloom":
        return "fp32" if "BF16Optimizer" in row["zero_stage_or_fsdp"] else row["precision"]
    if source == "pythia":  # DeepSpeed, too
        return row["precision"]
    if source == "megatron2021":  # Megatron's own data parallelism of 2021 and DeepSpeed reduce in the model's precision
        return "fp16"
    if source == "nemo":  # fp8 recipes: parameters in fp8, gradients reduced in bf16
        return "bf16"
    return "bf16" if "bf16" in row["gradient_dtype"] else "fp32"


def zero_of(row, source):
    text = row["zero_stage_or_fsdp"]
    if source == "nemo":  # the recipes use Megatron-Core's distributed optimizer
        return 1
    if "FSDP" in text or "HSDP" in text or "ZeRO-3" in text:
        return 3
    return 1 if "distributed" in text or "ZeRO-1" in text or source in ("megascale", "fatrain") else 0


def precision_of(row, source):
    word = row["precision"].split()[0].split("/")[0].lower()
    if "float8" in word:
        return "fp8"
    return "bf16" if source == "zero-bubble" else word.replace("amp_", "")


def metric_of(row):
    value = row["metric_value"]
    if row["metric_name"] == "iteration_time":
        return f"step_time: {value} s"
    if row["metric_name"] in ("tokens_per_s_per_gpu", "model_tflops_per_gpu", "hardware_tflops_per_gpu"):
        return f"{row['metric_name']}: {value}"
    if row["metric_name"] in ("samples_per_s_total", "tokens_per_s_total"):
        return f"{row['metric_name'].removesuffix('_total')}: {value}"
    return f"samples_per_s: {float(value) * int(row['n_gpus']):g}"


def memory_key(row):
    line = re.search(r"(line|row) \d+", row["notes"])  # of BLOOM's chronicle: time and memory of one run
    if "bigscience" in row["source"] and line:
        return line.group(0)
    return row["source"], row["model"], row["notes"].split(";")[0] if "torchtitan" in row["source"] else ""


def memory_of(row, peaks):
    """Measured with the run, in a row of its own, which may hold for every batch size. Printed as GB; what Megatron-LM
    reports is torch.cuda.max_memory_allocated in MiB; MiB, too, is what nvidia-smi prints (BLOOM's)."""
    peak = peaks.get(memory_key(row))
    return [f"  memory_{'used' if 'nvidia-smi' in row['notes'] or 'bigscience' in row['source'] else 'peak'}: {peak} GiB"] if peak else []


def mapping(keys):
    return "{" + ", ".join(f"{k}: {v}" for k, v in keys.items()) + "}"


def example(row, software):
    """A row of NVIDIA's examples: one accelerator; gradients of accumulated micro-batches in fp32 or fp16."""
    is_bert = "BERT" in row["model"]
    gpu = row["gpu"].split("-")[0].lower() + ("-16gb" if "16GB" in row["gpu"] else "")
    name = f"dle-{'bert' if is_bert else 'resnet50'}-{gpu}-{row['id'].split('-')[-1]}"
    precision = row["precision"].split()[0]
    training = {"global_batch_size": row["global_batch_sequences"] or row["micro_batch"],
                "micro_batch_size": row["micro_batch"], "precision": precision,
                "gradient_precision": "fp16" if precision == "fp16" else "fp32",
                "optimizer": "lamb" if is_bert else "momentum"}
    if is_bert:
        training |= {"sequence_length": row["seq_len"], "attention": "standard"}
    elif software == "apex-2021":
        software = "{extends: apex-2021, dropout: 0}"
    lines = ["# Written by tools/published/generate.py from tools/published/runs.csv, row " + row["id"] + ".",
             "schema: tsim/v1", f"name: {name}", f"model: {'bert-large' if is_bert else 'resnet50'}",
             "cluster: " + mapping({"node": ALONE[row["gpu"]], "nodes": 1, "accelerators_per_node": 1}),
             f"training: {mapping(training)}", f"software: {software}", "measured:",
             '  source: "' + row["source"] + '"', f"  samples_per_s: {row['metric_value']}", *doubt_of(row), ""]
    return name, "\n".join(lines)


def encoder(row, source, software):
    """BERT pretraining on other machines than NVIDIA's: weights in 16 bits, without a master copy."""
    name = f"{source}-bert-{row['gpu'].lower()}-{row['n_gpus']}-{row['id'].split('-')[-1]}"
    precision = row["precision"]
    training = {"sequence_length": row["seq_len"], "global_batch_size": row["global_batch_sequences"],
                "micro_batch_size": row["micro_batch"], "precision": precision, "gradient_precision": precision,
                "optimizer": "lamb" if source == "graphcore" or int(row["global_batch_sequences"]) > MOST_WITH_ADAM else "adamw",
                "attention": "standard",
                "recompute": row["recompute"] or "none"}
    if precision != "fp32":
        training["master_weights"] = "false"
    # Its configuration places 4.5 layers beside the embedding and the head, and 6.5 on each other stage.
    pipeline = {"pipeline": row["pp"], "layers_per_stage": "[6, 7, 7, 4]"} if row["pp"] != "1" else {"zero": 1, "pipeline": 1}
    cluster = {"node": NODES[row["gpu"]], "nodes": int(row["n_gpus"]) // PER_NODE[row["gpu"]]}
    if cluster["nodes"] > 1:
        cluster["fabric"] = FABRICS[row["gpu"]]
    lines = ["# Written by tools/published/generate.py from tools/published/runs.csv, row " + row["id"] + ".",
             "# " + row["notes"] + ".", "schema: tsim/v1", f"name: {name}", "model: bert-large",
             f"cluster: {mapping(cluster)}", f"training: {mapping(training)}",
             f"software: {software if source == 'graphcore' else '{extends: ' + software + ', dropout: 0.1}'}",
             f"parallelism: {mapping(pipeline)}", "measured:", '  source: "' + row["source"] + '"',
             "  " + metric_of(row), *doubt_of(row), ""]
    return name, "\n".join(lines)


# torchtitan's words; MaxText's, which keeps results of products.
RECOMPUTED = {"selective (op)": "selective", "selective (every layer)": "full", "minimal": "[attention, norms, activation]",
              "save_qkv_proj": "[attention, norms, activation, ffn, output]"}


def scenario(row, peaks):
    assumed, why = ASSUMED.get(row["id"], ({}, ""))
    row = row | assumed | {"recompute": RECOMPUTED.get(row["recompute"], assumed.get("recompute", row["recompute"]))}
    source, software = source_of(row)
    if source == "bloom" and not row["heads"]:
        row["heads"] = "96" if row["hidden"] == "14400" else "64"
        why = ("The heads are those of this model's other runs on the same page." if row["heads"] == "96" else
               'Not in its table, but the page says of the tables up to its final round: "all NHEADS=64 (above too)".')
    if source == "dle":
        return example(row, software)
    if "BERT" in row["model"]:
        return encoder(row, source, software)
    n = int(row["n_gpus"])
    before = source == "bloom" and BEFORE_REPAIR.search(row["notes"])
    node = SOURCE_NODES.get("bloom before the repair" if before else source, NODES[row["gpu"]])
    per_node = PER_NODE.get(row["gpu"], 8)
    cluster = {"node": node, "nodes": max(n // per_node, 1)}
    if n < per_node or per_node == 64:  # fewer than the node has
        cluster["accelerators_per_node"] = min(n, per_node)
    if n > per_node:
        cluster["fabric"] = fabric_of(row, source)
    if source == "maxtext":
        cluster["shape"] = "[" + re.search(r"torus of ([0-9 x]+);", row["notes"]).group(1).replace(" x", ",") + "]"
    size = re.search(r"([0-9.]+ ?[bBmM])\b", row["model"]).group(1).replace(" ", "").lower()
    gpu = row["gpu"].split("-")[0].lower() + ("-40gb" if "40GB" in row["gpu"] else "")
    table = re.search(r"meg21(t\d)", row["id"])
    name = f"{source}{'-' + table.group(1) if table else ''}-{size}-{gpu.split()[0]}-{n}-{row['id'].split('-')[-1]}"
    recompute = row["recompute"] if row["recompute"] in ("none", "full", *RECOMPUTED.values()) else "none"
    tensor = int(row["tp"] or 1)
    training = {"sequence_length": row["seq_len"], "global_batch_size": row["global_batch_sequences"],
                "micro_batch_size": row["micro_batch"], "precision": precision_of(row, source),
                "gradient_precision": gradients_of(row, source), "optimizer": "adam", "recompute": recompute}
    parallelism = {"tensor": tensor, "pipeline": row["pp"] or 1, "virtual_pipeline": row["vpp"] or 1,
                   "context": row["cp"] or 1, "zero": zero_of(row, source)}
    if "HSDP" in row["zero_stage_or_fsdp"]:
        parallelism["zero_group"] = "node"
    group = re.match(r"FSDP (\d+) \+ DP", row["zero_stage_or_fsdp"])
    if group and int(group.group(1)) < n:
        parallelism["zero_group"] = group.group(1)
    if source == "pythia":
        training["attention"] = "flash" if "flash attention" in row["notes"] else "standard"
    if source == "grok":
        parallelism["expert"] = re.search(r"experts over (\d+) ranks", row["notes"]).group(1)
        if "experts whole on a tensor rank" in row["notes"]:
            parallelism["expert_tensor"] = 1
    if source == "bloom" and int(row["layers"]) % int(row["pp"]):
        parallelism["layers_per_stage"] = stages_of(row)
    if tensor > 1:
        parallelism["sequence"] = "true" if row["seq_parallel"] == "yes" else "false"
    lines = ["# Written by tools/published/generate.py from tools/published/runs.csv, row " + row["id"] + "."]
    if source in ("habana", "neuron", "rocm", "grok", "maxtext", "pythia", "accelerate", "vuiseng", "vultr", "mlperf"):
        lines.append("# " + row["notes"] + ".")
    if why:
        lines.append(f"# {why}")
    if before:
        lines.append(f"# {TWO_ADAPTERS}")
    if row["recompute"] != recompute:
        lines.append("# Recomputation is not stated: none assumed.")
    if source == "zero-bubble":
        lines.append("# The vocabulary is not stated: the authors' scripts (sail-sg/zero-bubble-pipeline-parallelism, examples) "
                     "take a SentencePiece tokenizer; 32000 assumed.")
    if "BF16Optimizer" in row["zero_stage_or_fsdp"]:
        lines.append("# DeepSpeed's BF16_Optimizer adds gradients in fp32 after each backward pass and all-reduces them "
                     "whole (runtime/pipe/engine.py, _bf16_reduce_grads).")
        software = software[:-1] + ", gradient_reduction: all-reduce}" if software.startswith("{") else (
            "{extends: " + software + ", gradient_reduction: all-reduce}")
    lines += ["schema: tsim/v1", f"name: {name}", f"model: {mapping(model_of(row, source))}",
              f"cluster: {mapping(cluster)}", f"training: {mapping(training)}", f"software: {software}",
              f"parallelism: {mapping(parallelism)}", "measured:",
              '  source: "' + row["source"].replace('"', "'") + '"', "  " + metric_of(row), *memory_of(row, peaks),
              *doubt_of(row), ""]
    return name, "\n".join(lines)


def main():
    for old in OUT.glob("*.yaml"):
        if old.read_text().startswith("# Written by tools/published/generate.py"):
            old.unlink()
    rows = list(csv.DictReader(open(HERE / "runs.csv")))
    peaks = {memory_key(r): r["metric_value"] for r in rows if r["metric_name"] == "peak_memory"}
    for row in rows:
        if row["metric_name"] == "peak_memory":
            continue
        name, text = scenario(row, peaks)
        (OUT / f"{name}.yaml").write_text(text)


main()
