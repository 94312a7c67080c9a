#!/usr/bin/env python3
"""Measures the GPU of this machine with PyTorch, and makes calibration files and scenarios of what it measured.

    tools/measure_gpu.py measure hardware/calibration/ID-DATE.csv     needs PyTorch and nvidia-smi; 15 to 30 minutes
    tools/measure_gpu.py files hardware/calibration/ID-DATE.csv --accelerator ID --out FOLDER     needs neither

ID is the accelerator's in the catalogue (tsim list accelerators). `measure` takes: matrix products by shape and precision in
the three layouts of training (forward, gradient of the input, gradient of the weights), attention by length and head
dimension, memory-bound operators, the optimizer, the gaps between launches, idle and loaded power, and whole training steps
of GPT-2 (124M, 350M, 774M, 1.5B) and of four layers of Llama 7B. `files` writes, for each precision,
FOLDER/ID-kernels-PRECISION.csv as `tsim calibrate kernels` reads it, for each whole step FOLDER/measured-MODEL-ID.yaml, a
scenario with `measured:` that `tsim validate` compares, and prints what is left for the software profile and the power.

The file: `# key: value` lines (gpu, driver, power_limit_w, torch, cuda, date), then CSV with the columns
what,name,precision,batch,m,n,k,bytes,time_us,power_w; empty where a column has no meaning:
  gemm       name: forward, input_gradient, weight_gradient; the product m x k by k x n that the layout makes
  attention  name: forward, backward; batch: sequences x heads, m: queries, n: keys, k: head dimension
  memory     name: the operator; bytes: read and written
  optimizer  name: adamw; m: parameters; bytes: read and written
  launch     name: eager, graph; time_us: of one tiny kernel of many in a row
  power      name: idle, gemm, memory; power_w: mean
  step       name: the model; batch: sequences, m: tokens of each; bytes: most memory in use; power_w: mean
"""
import argparse
import csv
import datetime
import os
import statistics
import subprocess
import sys
import threading
import time

COLUMNS = "what name precision batch m n k bytes time_us power_w".split()
KINDS = ("gemm", "attention", "memory", "optimizer", "launch", "power", "step")
NEEDED = {  # columns that a kind cannot do without
    "gemm": "batch m n k time_us", "attention": "batch m n k time_us", "memory": "bytes time_us",
    "optimizer": "m bytes time_us", "launch": "time_us", "power": "power_w", "step": "batch m time_us"}

# name -> (catalogue id or None, layers, hidden, heads, ffn_hidden, vocab, gated, sequence length, sequences in a step)
MODELS = {
    "gpt2-124m": ("gpt2-small", 12, 768, 12, 3072, 50257, False, 1024, 16),
    "gpt2-350m": ("gpt2-medium", 24, 1024, 16, 4096, 50257, False, 1024, 8),
    "gpt2-774m": ("gpt2-large", 36, 1280, 20, 5120, 50257, False, 1024, 4),
    "gpt2-1.5b": ("gpt2-xl", 48, 1600, 25, 6400, 50257, False, 1024, 2),
    "llama-4-layers": (None, 4, 4096, 32, 11008, 32000, True, 2048, 4),
}


# ---- measuring


def nvidia_smi(field):
    command = ["nvidia-smi", "--id=0", "--query-gpu=" + field, "--format=csv,noheader,nounits"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


class Power:
    """Mean of nvidia-smi's power.draw while inside, in watts; None without nvidia-smi."""

    def __enter__(self):
        self.samples, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()
        return self

    def sample(self):
        while not self.ended.is_set():
            try:
                self.samples.append(float(nvidia_smi("power.draw")))
            except ValueError:
                return
            self.ended.wait(0.1)

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        # The first half second belongs to what ran before.
        late = self.samples[5:] or self.samples
        self.watts = statistics.fmean(late) if late else None


class Bench:
    def __init__(self, torch, device, quick):
        self.torch, self.device, self.quick = torch, device, quick
        self.rows = []

    def synchronize(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def seconds(self, call, least_s=0.2):
        """Median of five timed loops; the host issues a loop ahead of the device, so its own time hides."""
        least_s = 0.005 if self.quick else least_s
        call()
        self.synchronize()
        start = time.perf_counter()
        call()
        self.synchronize()
        calls = max(1, min(2000, int(least_s / max(time.perf_counter() - start, 1e-6))))
        times = []
        for _ in range(2 if self.quick else 5):
            if self.device == "cuda":
                begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                for _ in range(calls):
                    call()
                end.record()
                end.synchronize()
                times.append(begin.elapsed_time(end) / 1e3 / calls)
            else:
                start = time.perf_counter()
                for _ in range(calls):
                    call()
                times.append((time.perf_counter() - start) / calls)
        return statistics.median(times)

    def watts(self, call, run_s=8.0):
        run_s = 0.2 if self.quick else run_s
        with Power() as power:
            until = time.perf_counter() + run_s
            while time.perf_counter() < until:
                for _ in range(10):
                    call()
                self.synchronize()
        return power.watts

    def add(self, what, name, precision="", **values):
        row = {"what": what, "name": name, "precision": precision, **values}
        self.rows.append(row)
        print(", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items() if v not in ("", None)),
              file=sys.stderr)

    def precisions(self):
        torch = self.torch
        yield "bf16", torch.bfloat16
        if self.device == "cuda":
            yield "fp16", torch.float16
        yield "fp32", torch.float32  # TF32 is off: PyTorch's default for products

    def gemms(self):
        torch, shapes = self.torch, []
        tokens = 256 if self.quick else 4096
        for hidden, ffn in ((768, 3072), (1600, 6400), (4096, 11008), (8192, 28672)):
            shapes += [(tokens, 3 * hidden, hidden), (tokens, hidden, hidden), (tokens, ffn, hidden), (tokens, hidden, ffn)]
        shapes += [(2048, n, 1024) for n in (1024, 1088, 2048, 2112)]  # one tile more, one wave more
        shapes += [(8192, 8192, k) for k in (64, 256, 1024, 8192)]     # how the rate grows with the depth
        shapes = shapes[:2] if self.quick else shapes
        for precision, dtype in self.precisions():
            for m, n, k in shapes:
                x = torch.randn(m, k, device=self.device, dtype=dtype)
                w = torch.randn(n, k, device=self.device, dtype=dtype)
                g = torch.randn(m, n, device=self.device, dtype=dtype)
                for name, size, call in (("forward", (m, n, k), lambda: x @ w.t()),
                                         ("input_gradient", (m, k, n), lambda: g @ w),
                                         ("weight_gradient", (n, k, m), lambda: g.t() @ x)):
                    self.add("gemm", name, precision, batch=1, m=size[0], n=size[1], k=size[2], time_us=self.seconds(call) * 1e6)

    def attention(self):
        torch = self.torch
        lengths = (128,) if self.quick else (512, 1024, 2048, 4096, 8192, 16384)
        for length in lengths:
            for head in (64, 128):
                heads, sequences = 16, max(1, 16384 // length)
                shape = (1 if self.quick else sequences, heads, length, head)
                q, k, v = (torch.randn(shape, device=self.device, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
                run = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                forward = self.seconds(lambda: run().detach())
                out, grad = run(), torch.randn(shape, device=self.device, dtype=torch.bfloat16)
                backward = self.seconds(lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True))
                for name, took in (("forward", forward), ("backward", backward)):
                    self.add("attention", name, "bf16", batch=shape[0] * heads, m=length, n=length, k=head, time_us=took * 1e6)

    def memory_bound(self):
        torch, f = self.torch, self.torch.nn.functional
        for elements in ((1 << 16,) if self.quick else (1 << 16, 1 << 20, 1 << 24, 1 << 28)):
            x = torch.randn(elements // 1024, 1024, device=self.device, dtype=torch.bfloat16)
            y, weight, bias = torch.empty_like(x), *(torch.ones(1024, device=self.device, dtype=torch.bfloat16) for _ in range(2))
            size = 2 * elements
            z = torch.randn_like(x)
            for name, passes, call in (("copy", 2, lambda: y.copy_(x)), ("add", 3, lambda: torch.add(x, z, out=y)),
                                       ("gelu", 2, lambda: f.gelu(x)), ("softmax", 2, lambda: torch.softmax(x, -1)),
                                       ("layernorm", 2, lambda: f.layer_norm(x, (1024,), weight, bias))):
                self.add("memory", name, "bf16", bytes=passes * size, time_us=self.seconds(call) * 1e6)

    def optimizer(self):
        torch = self.torch
        for count in ((1 << 16,) if self.quick else (1 << 24, 1 << 27)):
            parameter = torch.nn.Parameter(torch.randn(count, device=self.device))
            parameter.grad = torch.randn_like(parameter)
            adam = torch.optim.AdamW([parameter], lr=1e-4, fused=self.device == "cuda")
            # Parameter and both moments read and written, the gradient read: seven times four bytes.
            self.add("optimizer", "adamw", "fp32", m=count, bytes=28 * count, time_us=self.seconds(adam.step) * 1e6)

    def launches(self):
        torch = self.torch
        x = torch.zeros(32, device=self.device)
        many = lambda: [x.add_(1.0) for _ in range(100)]
        self.add("launch", "eager", time_us=self.seconds(many) / 100 * 1e6)
        if self.device == "cuda":
            many()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                many()
            self.add("launch", "graph", time_us=self.seconds(graph.replay) / 100 * 1e6)

    def power(self):
        torch, n = self.torch, 256 if self.quick else 8192
        a, b = (torch.randn(n, n, device=self.device, dtype=torch.bfloat16) for _ in range(2))
        long = torch.empty(1 << (16 if self.quick else 30), device=self.device, dtype=torch.uint8)
        other = torch.empty_like(long)
        self.synchronize()
        with Power() as idle:
            time.sleep(0.2 if self.quick else 10.0)
        for name, watts in (("idle", idle.watts), ("gemm", self.watts(lambda: a @ b)),
                            ("memory", self.watts(lambda: other.copy_(long)))):
            if watts is not None:
                self.add("power", name, power_w=watts)

    def steps(self):
        torch = self.torch
        for name, (_, layers, hidden, heads, ffn, vocab, gated, length, sequences) in MODELS.items():
            if self.quick:
                layers, hidden, heads, ffn, vocab, length, sequences = 2, 64, 4, 128, 512, 32, 2
            try:
                model = network(torch, layers, hidden, heads, ffn, vocab, gated, length).to(self.device)
                adam = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=self.device == "cuda")
                run = model if self.quick else torch.compile(model)
                tokens = torch.randint(vocab, (sequences, length + 1), device=self.device)

                def step():
                    with torch.autocast(self.device, dtype=torch.bfloat16):
                        logits = run(tokens[:, :-1])
                        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
                    loss.backward()
                    adam.step()
                    adam.zero_grad(set_to_none=True)

                for _ in range(3):
                    step()
                took = self.seconds(step, 3.0)
                watts = self.watts(step)
                peak = torch.cuda.max_memory_allocated() if self.device == "cuda" else ""
                self.add("step", name, "bf16", batch=sequences, m=length, bytes=peak, time_us=took * 1e6,
                         power_w="" if watts is None else watts)
            except RuntimeError as error:  # out of memory: the others may still fit
                print(f"measure_gpu: {name} left out: {str(error).splitlines()[0]}", file=sys.stderr)
            model = adam = run = step = None
            if self.device == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()


def network(torch, layers, hidden, heads, ffn, vocab, gated, length):
    """GPT-2 (learned positions, LayerNorm, GELU, tied embeddings, biases) or, gated, Llama (RoPE, RMSNorm, SwiGLU)."""
    nn, f = torch.nn, torch.nn.functional
    norm = (lambda: nn.RMSNorm(hidden)) if gated else (lambda: nn.LayerNorm(hidden))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([norm(), norm()])
            self.qkv, self.out = nn.Linear(hidden, 3 * hidden, bias=not gated), nn.Linear(hidden, hidden, bias=not gated)
            self.up, self.down = nn.Linear(hidden, ffn, bias=not gated), nn.Linear(ffn, hidden, bias=not gated)
            self.gate = nn.Linear(hidden, ffn, bias=False) if gated else None

        def forward(self, x, cos, sin):
            b, s, _ = x.shape
            q, k, v = (t.view(b, s, heads, -1).transpose(1, 2) for t in self.qkv(self.norms[0](x)).chunk(3, -1))
            if gated:
                turn = lambda t: t * cos + torch.cat((-t[..., t.shape[-1] // 2:], t[..., :t.shape[-1] // 2]), -1) * sin
                q, k, v = turn(q).to(v.dtype), turn(k).to(v.dtype), v
            a = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(a.transpose(1, 2).reshape(b, s, hidden))
            y = self.norms[1](x)
            return x + self.down(f.silu(self.gate(y)) * self.up(y) if gated else f.gelu(self.up(y)))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(vocab, hidden)
            self.positions = None if gated else nn.Embedding(length, hidden)
            self.blocks, self.last = nn.ModuleList(Block() for _ in range(layers)), norm()
            self.head = nn.Linear(hidden, vocab, bias=False)
            if not gated:
                self.head.weight = self.words.weight
            half = hidden // heads // 2
            angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(half) / half)
            self.register_buffer("cos", angle.cos().repeat(1, 2), persistent=False)
            self.register_buffer("sin", angle.sin().repeat(1, 2), persistent=False)

        def forward(self, tokens):
            x = self.words(tokens)
            if not gated:
                x = x + self.positions.weight[:tokens.shape[1]]
            for block in self.blocks:
                x = block(x, self.cos, self.sin)
            return self.head(self.last(x))

    return Network()


def measure(path, device, quick):
    import torch
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit("measure_gpu: PyTorch sees no GPU here")
    bench = Bench(torch, device, quick)
    torch.manual_seed(1)
    for part in (bench.power, bench.gemms, bench.attention, bench.memory_bound, bench.optimizer, bench.launches, bench.steps):
        part()
    head = {"gpu": torch.cuda.get_device_name() if device == "cuda" else "none: the CPU, to try the script",
            "driver": nvidia_smi("driver_version"), "power_limit_w": nvidia_smi("power.limit"),
            "clock_max_mhz": nvidia_smi("clocks.max.sm"), "torch": torch.__version__, "cuda": torch.version.cuda or "",
            "date": datetime.date.today().isoformat(), "note": "tiny shapes: a trial" if quick else ""}
    with open(path, "w", newline="", encoding="utf-8") as file:
        for key, value in head.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in bench.rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else "" if v is None else v for k, v in row.items()})


# ---- files of what was measured


def read(path):
    """(head, rows) of a file that `measure` wrote; what is wrong with it is said with its line."""
    head, rows, columns = {}, [], None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            where = f"{path}:{number}: "
            if line.startswith("#"):
                key, colon, value = line[1:].partition(":")
                if colon:
                    head[key.strip()] = value.strip()
                continue
            if not line:
                continue
            cells = next(csv.reader([line]))
            if columns is None:
                if cells != COLUMNS:
                    sys.exit(where + "not the columns " + ",".join(COLUMNS))
                columns = cells
                continue
            if len(cells) != len(columns):
                sys.exit(where + f"{len(cells)} cells, not {len(columns)}")
            row = dict(zip(columns, cells))
            if row["what"] not in KINDS:
                sys.exit(where + f"'{row['what']}' is none of {', '.join(KINDS)}")
            for name in COLUMNS[3:]:
                try:
                    row[name] = float(row[name]) if row[name] else None
                except ValueError:
                    sys.exit(where + f"{name} is '{row[name]}', not a number")
                if row[name] is None and name in NEEDED[row["what"]].split():
                    sys.exit(where + f"{row['what']} without {name}")
                if row[name] is not None and not row[name] > 0:
                    sys.exit(where + f"{name} is {row[name]:g}, not above 0")
            if row["what"] == "step" and row["name"] not in MODELS:
                sys.exit(where + f"no model '{row['name']}' ({', '.join(MODELS)})")
            rows.append(row)
    if not rows:
        sys.exit(f"{path}: no measurement")
    return head, rows


def origin(head, path):
    known = [f"{key} {head[key]}" for key in ("gpu", "driver", "torch", "cuda", "date") if head.get(key)]
    return f"tools/measure_gpu.py, {', '.join(known)} ({os.path.basename(path)})"


def write_kernels(folder, accelerator, precision, rows, source):
    path = os.path.join(folder, f"{accelerator}-kernels-{precision}.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# Products and copies, {precision}: {source}\naccelerator,op,precision,batch,m,n,k,bytes,time_us\n")
        for row in rows:
            if row["what"] == "gemm" and row["precision"] == precision:
                size = ",".join(f"{row[name]:.0f}" for name in ("batch", "m", "n", "k"))
                file.write(f"{accelerator},gemm,{precision},{size},,{row['time_us']:g}\n")
            elif row["what"] == "memory" and row["name"] == "copy":  # bytes are bytes, in any precision
                file.write(f"{accelerator},copy,{precision},,,,,{row['bytes']:g},{row['time_us']:g}\n")
    return path


def write_step(folder, accelerator, row, source):
    catalogue, layers, hidden, heads, ffn, vocab, _, _, _ = MODELS[row["name"]]
    model = catalogue or (f"{{schema: tsim/model/v1, name: {row['name']}, kind: transformer, layers: {layers}, hidden: {hidden}, "
                          f"heads: {heads}, ffn_hidden: {ffn}, vocab: {vocab}, gated_mlp: true, norm: rmsnorm, position: rope}}")
    name = f"measured-{row['name'].replace('.', '-')}-{accelerator}"
    path = os.path.join(folder, name + ".yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# Written by tools/measure_gpu.py. PyTorch, autocast, torch.compile, fused AdamW.\n"
                   f"schema: tsim/v1\nname: {name}\nmodel: {model}\ncluster: {{node: single-{accelerator}, nodes: 1}}\n"
                   f"training: {{sequence_length: {row['m']:.0f}, global_batch_size: {row['batch']:.0f}, "
                   f"micro_batch_size: {row['batch']:.0f}, precision: bf16, gradient_precision: fp32, optimizer: adamw, "
                   f"recompute: none}}\nsoftware: torchtitan-2024\nparallelism: {{data: 1, zero: 0}}\n"
                   f"measured:\n  source: \"{source}\"\n  step_time: {row['time_us'] / 1e6:.6g} s\n")
        if row["bytes"]:
            file.write(f"  memory_peak: {row['bytes']:.0f} B\n")
    return path


def summary(rows):
    """What has no file: for power in the accelerator's file, for the software profile, for comparing operators."""
    for row in rows:
        label, took = f"{row['what']} {row['name']}", row["time_us"]
        if row["what"] == "power":
            yield f"{label}: {row['power_w']:.0f} W"
        elif row["what"] == "launch":
            yield f"{label}: {took:.2f} us a kernel"
        elif row["what"] == "attention":
            # Causal: half the products; backward makes five of them where forward makes two.
            flops = row["batch"] * row["m"] * row["n"] * row["k"] * (2 if row["name"] == "forward" else 5)
            yield f"{label} {row['m']:.0f} tokens, heads of {row['k']:.0f}: {flops / took / 1e6:.1f} TFLOP/s"
        elif row["what"] in ("memory", "optimizer") and row["name"] != "copy":
            yield f"{label} {row['bytes'] / 1e6:.1f} MB: {row['bytes'] / took / 1e3:.0f} GB/s"
        elif row["what"] == "step" and row["power_w"]:
            yield f"{label}: {row['power_w']:.0f} W"


def files(path, accelerator, folder):
    head, rows = read(path)
    source = origin(head, path)
    os.makedirs(folder, exist_ok=True)
    for precision in dict.fromkeys(row["precision"] for row in rows if row["what"] == "gemm"):
        print("wrote", write_kernels(folder, accelerator, precision, rows, source))
    for row in rows:
        if row["what"] == "step":
            print("wrote", write_step(folder, accelerator, row, source))
    for line in summary(rows):
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="measure the GPU of this machine")
    one.add_argument("file")
    one.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: to try the script, with --quick")
    one.add_argument("--quick", action="store_true", help="tiny shapes: tries the script, measures nothing of worth")
    two = commands.add_parser("files", help="calibration files and scenarios of a measured file")
    two.add_argument("file")
    two.add_argument("--accelerator", required=True, help="id in the catalogue")
    two.add_argument("--out", default=".", help="folder")
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.file, given.device, given.quick)
    else:
        files(given.file, given.accelerator, given.out)


if __name__ == "__main__":
    main()
