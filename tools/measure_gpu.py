#!/usr/bin/env python3
"""Measures the GPU of this machine with PyTorch, and makes calibration files and scenarios of what it measured.

    tools/measure_gpu.py measure hardware/calibration/ID-DATE.csv     needs PyTorch and nvidia-smi; 20 to 40 minutes
    tools/measure_gpu.py measure FILE --dry-run                       needs neither: times are made up, the format is not
    tools/measure_gpu.py files hardware/calibration/ID-DATE.csv --accelerator ID --out FOLDER     needs neither

ID is the accelerator's in the catalogue (tsim list accelerators). `measure` takes: matrix products by shape and precision in
the three layouts of training (forward, gradient of the input, gradient of the weights, alone and added to a sum), products of
experts side by side, attention by kernel, length and head dimension, memory-bound operators and the permutation of tokens to experts,
the optimizer, the gaps between launches, idle and loaded power, and whole training steps of GPT-2 (124M, 350M, 774M, 1.5B) and
of four layers of Llama 7B. Each kernel runs for a second before it is timed, so that the power limit acts as in training; clock
and power are those meanwhile. `files` writes, for each precision, FOLDER/ID-kernels-PRECISION.csv as `tsim calibrate kernels`
reads it, for each whole step FOLDER/measured-MODEL-ID.yaml, a scenario with `measured:` that `tsim validate` compares, and prints
what is left for the software profile and the power.

The file: `# key: value` lines (gpu, driver, power_limit_w, torch, cuda, date), then CSV with the columns
what,name,precision,batch,m,n,k,bytes,time_us,power_w,sum,kernel,causal,repeats,clock_mhz; empty where a column has no meaning:
  gemm       name: forward, input_gradient, weight_gradient; the product m x k by k x n that the layout makes; sum: precision of
             the sum that it is added to
  grouped    the same, `batch` products of experts with weights of their own
  attention  name: forward, backward; batch: sequences x heads, m: queries, n: keys, k: head dimension; kernel: flash2, cudnn
  memory     name: the operator; bytes: read and written
  optimizer  name: adamw; m: parameters; bytes: read and written
  launch     name: eager, graph; time_us: of one tiny kernel of many in a row
  power      name: idle, gemm, memory; power_w: mean
  step       name: the model; batch: sequences, m: tokens of each; bytes: most memory in use; power_w: mean
"""
import argparse
import collections
import csv
import datetime
import os
import statistics
import subprocess
import sys
import threading
import time

COLUMNS = "what name precision batch m n k bytes time_us power_w sum kernel causal repeats clock_mhz".split()
NUMBERS = "batch m n k bytes time_us power_w repeats clock_mhz".split()
KINDS = ("gemm", "grouped", "attention", "memory", "optimizer", "launch", "power", "step")
NEEDED = {  # columns that a kind cannot do without
    "gemm": "batch m n k time_us", "grouped": "batch m n k time_us", "attention": "batch m n k kernel causal time_us", "memory": "bytes time_us",
    "optimizer": "m bytes time_us", "launch": "time_us", "power": "power_w", "step": "batch m time_us"}

# name -> (catalogue id or None, layers, hidden, heads, ffn_hidden, vocab, gated, sequence length, sequences in a step)
MODELS = {
    "gpt2-124m": ("gpt2-small", 12, 768, 12, 3072, 50257, False, 1024, 16),
    "gpt2-350m": ("gpt2-medium", 24, 1024, 16, 4096, 50257, False, 1024, 8),
    "gpt2-774m": ("gpt2-large", 36, 1280, 20, 5120, 50257, False, 1024, 4),
    "gpt2-1.5b": ("gpt2-xl", 48, 1600, 25, 6400, 50257, False, 1024, 2),
    "llama-4-layers": (None, 4, 4096, 32, 11008, 32000, True, 2048, 4),
}


# ---- what is measured


Kernel = collections.namedtuple("Kernel", "what name precision batch m n k bytes sum kernel causal", defaults=("",) * 8)
SIZES = {"bf16": 2, "fp16": 2, "fp32": 4}


def layouts(what, precision, batch, tokens, n, k, sums):
    """The three products of a linear layer of `n` results of `k` inputs; the last one also added to a sum."""
    yield Kernel(what, "forward", precision, batch, tokens, n, k)
    yield Kernel(what, "input_gradient", precision, batch, tokens, k, n)
    for kept in ("",) + sums:
        yield Kernel(what, "weight_gradient", precision, batch, n, k, tokens, sum=kept)


def plan(precisions, quick):
    """Every kernel, in the order of measuring."""
    shapes, tokens = [], 256 if quick else 4096
    for hidden, ffn in ((768, 3072), (1600, 6400), (4096, 11008), (8192, 28672)):
        shapes += [(tokens, 3 * hidden, hidden), (tokens, hidden, hidden), (tokens, ffn, hidden), (tokens, hidden, ffn)]
    shapes += [(2048, n, 1024) for n in (1024, 1088, 2048, 2112)]  # one tile more, one wave more
    shapes += [(8192, 8192, k) for k in (64, 256, 1024, 8192)]     # how the rate grows with the depth
    for precision in precisions:
        for m, n, k in shapes[:2] if quick else shapes:
            yield from layouts("gemm", precision, 1, m, n, k, ("bf16", "fp32") if precision == "bf16" else ())
    for experts, rows, n, k in ((2, 16, 64, 32),) if quick else ((8, 4096, 28672, 4096), (8, 4096, 4096, 14336), (32, 1024, 4096, 7168),
                                                                 (32, 1024, 7168, 2048), (128, 256, 4096, 7168)):
        yield from layouts("grouped", "bf16", experts, rows, n, k, ("bf16", "fp32"))
    for kernel in ("cudnn", "flash2"):
        for length in (128,) if quick else (1024, 2048, 4096, 8192, 16384, 32768):
            for head in (64, 128):
                for heads in (16,) if quick else (8, max(16, 32 * 4096 // length)):
                    for name in ("forward", "backward"):
                        yield Kernel("attention", name, "bf16", heads, length, length, head, kernel=kernel, causal="yes")
    for elements in ((1 << 16,) if quick else (1 << 16, 1 << 20, 1 << 24, 1 << 28)):
        for name, passes in (("copy", 2), ("add", 3), ("gelu", 2), ("softmax", 2), ("layernorm", 2)):
            yield Kernel("memory", name, "bf16", bytes=passes * 2 * elements)
    for rows in (64,) if quick else (4096, 16384):
        for name in ("permute", "unpermute"):  # rows of 4,096 elements, each to 8 experts and back
            yield Kernel("memory", name, "bf16", bytes=(1 + 8) * 2 * 4096 * rows)


def demands(kernel):
    """(FLOP, bytes) of a kernel."""
    if kernel.what == "memory":
        return 0, kernel.bytes
    area = kernel.batch * kernel.m * kernel.n
    if kernel.what == "attention":
        return (2 if kernel.name == "forward" else 5) * area * kernel.k, 8 * kernel.batch * kernel.m * kernel.k
    size = SIZES[kernel.precision]
    result = 2 * SIZES[kernel.sum] if kernel.sum else size
    return 2 * area * kernel.k, kernel.batch * size * kernel.k * (kernel.m + kernel.n) + result * area


# ---- measuring


def nvidia_smi(field):
    command = ["nvidia-smi", "--id=0", "--query-gpu=" + field, "--format=csv,noheader,nounits"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


class Monitor:
    """Means of nvidia-smi's power.draw and clocks.sm while inside, in W and MHz; None without nvidia-smi."""

    def __init__(self, skipped=5):
        self.skipped = skipped  # samples that belong to what ran before

    def __enter__(self):
        self.samples, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()
        return self

    def sample(self):
        while not self.ended.is_set():
            try:
                self.samples.append([float(value) for value in nvidia_smi("power.draw,clocks.sm").split(",")])
            except ValueError:
                return
            self.ended.wait(0.1)

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        late = self.samples[self.skipped:] or self.samples
        self.watts, self.mhz = (statistics.fmean(column) for column in zip(*late)) if late else (None, None)


class Rows:
    """The measurements so far."""

    def __init__(self):
        self.rows = []

    def add(self, what, name, precision="", **values):
        row = {"what": what, "name": name, "precision": precision, **values}
        self.rows.append(row)
        print(", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items() if v not in ("", None)),
              file=sys.stderr)


class DryRun(Rows):
    """Times of a made-up GPU: 0.6 of 1 PFLOP/s in 16 bits, 0.06 of it in fp32, 2.4 TB/s, 4 us a kernel; under load for a second."""

    def measure(self, quick):
        for kernel in plan(("bf16", "fp16", "fp32"), quick):
            flops, size = demands(kernel)
            peak = 6e13 if kernel.precision == "fp32" else 6e14
            took = max(flops / peak, size / 2.4e12) + 4e-6
            self.add(**kernel._asdict(), time_us=took * 1e6, repeats=max(1, int(1 / took)), clock_mhz=1500.0, power_w=600.0)


class Bench(Rows):
    def __init__(self, torch, device, quick):
        super().__init__()
        self.torch, self.device, self.quick = torch, device, quick

    def synchronize(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def loop(self, call, calls):
        """Seconds of a call; the host issues a loop ahead of the device, so its own time hides."""
        if self.device == "cuda":
            begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(calls):
                call()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) / 1e3 / calls
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start) / calls

    def load(self, call, least_s=0.2, load_s=1.0):
        """Under load for load_s, then the median of five timed loops of least_s: seconds, calls in all, watts, MHz."""
        least_s, load_s = (0.005, 0.005) if self.quick else (least_s, load_s)
        call()
        self.synchronize()
        start = time.perf_counter()
        call()
        self.synchronize()
        calls = max(1, min(2000, int(least_s / max(time.perf_counter() - start, 1e-6))))
        with Monitor() as monitor:
            start, repeats = time.perf_counter(), 0
            while time.perf_counter() < start + load_s:
                self.loop(call, calls)
                repeats += calls
            n = 2 if self.quick else 5
            took = statistics.median(self.loop(call, calls) for _ in range(n))
        return took, repeats + n * calls, monitor.watts, monitor.mhz

    def seconds(self, call, least_s=0.2):
        return self.load(call, least_s, 0.0)[0]

    def watts(self, call, run_s=8.0):
        run_s = 0.2 if self.quick else run_s
        with Monitor() as monitor:
            until = time.perf_counter() + run_s
            while time.perf_counter() < until:
                for _ in range(10):
                    call()
                self.synchronize()
        return monitor.watts

    def kernels(self):
        precisions = ("bf16", "fp16", "fp32") if self.device == "cuda" else ("bf16", "fp32")  # TF32 is off: PyTorch's default
        for kernel in plan(precisions, self.quick):
            try:
                took, repeats, watts, mhz = self.load(getattr(self, kernel.what)(kernel))
                self.add(**kernel._asdict(), time_us=took * 1e6, repeats=repeats, power_w=watts, clock_mhz=mhz)
            except (ImportError, AttributeError, NotImplementedError, RuntimeError, TypeError) as error:
                print(f"measure_gpu: {kernel} left out: {str(error).splitlines()[0]}", file=sys.stderr)

    def tensor(self, *shape, precision="bf16"):
        torch = self.torch
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[precision]
        return torch.randn(*shape, device=self.device, dtype=dtype)

    def gemm(self, kernel):
        """Operands as they lie in memory: features of tokens, and weights as results by inputs."""
        m, n, k, precision = kernel.m, kernel.n, kernel.k, kernel.precision
        if kernel.name == "forward":
            x, w = self.tensor(m, k, precision=precision), self.tensor(n, k, precision=precision)
            return lambda: x @ w.t()
        if kernel.name == "input_gradient":
            g, w = self.tensor(m, k, precision=precision), self.tensor(k, n, precision=precision)
            return lambda: g @ w
        g, x = self.tensor(k, m, precision=precision), self.tensor(k, n, precision=precision)
        if not kernel.sum:
            return lambda: g.t() @ x
        kept = self.tensor(m, n, precision=kernel.sum)
        if kernel.sum == precision:
            return lambda: self.torch.addmm(kept, g.t(), x, out=kept)
        # Transformer Engine's: PyTorch's products add only to sums of their own precision.
        from transformer_engine.pytorch.cpp_extensions import general_gemm
        return lambda: general_gemm(x, g, out=kept, out_dtype=kept.dtype, accumulate=True, layout="NT", grad=True)

    def grouped(self, kernel):
        """On four streams, as Transformer Engine's nvte_multi_stream_cublas_gemm launches them."""
        torch, calls = self.torch, [self.gemm(kernel) for _ in range(kernel.batch)]
        if self.device != "cuda":
            return lambda: [call() for call in calls]
        streams, main = [torch.cuda.Stream() for _ in range(4)], torch.cuda.current_stream()

        def run():
            for stream in streams:
                stream.wait_stream(main)
            for i, call in enumerate(calls):
                with torch.cuda.stream(streams[i % len(streams)]):
                    call()
            for stream in streams:
                main.wait_stream(stream)

        return run

    def attention(self, kernel):
        torch = self.torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        backend = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash2": SDPBackend.FLASH_ATTENTION}[kernel.kernel]
        shape = (1, kernel.batch, kernel.m, kernel.k)
        q, k, v = (self.tensor(*shape).requires_grad_(True) for _ in range(3))

        def forward():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

        if kernel.name == "forward":
            return lambda: forward().detach()
        out, grad = forward(), self.tensor(*shape)
        return lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)

    def memory(self, kernel):
        torch, f = self.torch, self.torch.nn.functional
        if kernel.name in ("permute", "unpermute"):
            rows = kernel.bytes // ((1 + 8) * 2 * 4096)
            tokens, order = self.tensor(rows, 4096), torch.randperm(8 * rows, device=self.device) % rows
            copies = self.tensor(8 * rows, 4096)
            if kernel.name == "permute":
                return lambda: torch.index_select(tokens, 0, order, out=copies)
            return lambda: tokens.index_add_(0, order, copies)
        x = self.tensor(kernel.bytes // (6 if kernel.name == "add" else 4) // 1024, 1024)
        y, z, weight, bias = torch.empty_like(x), torch.randn_like(x), self.tensor(1024), self.tensor(1024)
        return {"copy": lambda: y.copy_(x), "add": lambda: torch.add(x, z, out=y), "gelu": lambda: f.gelu(x),
                "softmax": lambda: torch.softmax(x, -1), "layernorm": lambda: f.layer_norm(x, (1024,), weight, bias)}[kernel.name]

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
        with Monitor() as idle:
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


def measure(path, device, quick, is_dry):
    if is_dry:
        bench = DryRun()
        bench.measure(quick)
        head = {"gpu": "none: a dry run, every time is made up", "date": datetime.date.today().isoformat()}
        return write_rows(path, head, bench.rows)
    import torch
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit("measure_gpu: PyTorch sees no GPU here")
    bench = Bench(torch, device, quick)
    torch.manual_seed(1)
    for part in (bench.power, bench.kernels, bench.optimizer, bench.launches, bench.steps):
        part()
    head = {"gpu": torch.cuda.get_device_name() if device == "cuda" else "none: the CPU, to try the script",
            "driver": nvidia_smi("driver_version"), "power_limit_w": nvidia_smi("power.limit"),
            "clock_max_mhz": nvidia_smi("clocks.max.sm"), "torch": torch.__version__, "cuda": torch.version.cuda or "",
            "date": datetime.date.today().isoformat(), "note": "tiny shapes: a trial" if quick else ""}
    return write_rows(path, head, bench.rows)


def write_rows(path, head, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        for key, value in head.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
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
                if not row[name] and name in NEEDED[row["what"]].split():
                    sys.exit(where + f"{row['what']} without {name}")
                if name not in NUMBERS:
                    continue
                try:
                    row[name] = float(row[name]) if row[name] else None
                except ValueError:
                    sys.exit(where + f"{name} is '{row[name]}', not a number")
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


def attention_kernel(rows):
    """The one whose rate the file gets: cuDNN's where it was measured."""
    measured = {row["kernel"] for row in rows if row["what"] == "attention"}
    return "cudnn" if "cudnn" in measured else min(measured, default="")


def write_kernels(folder, accelerator, precision, rows, source):
    path, kernel = os.path.join(folder, f"{accelerator}-kernels-{precision}.csv"), attention_kernel(rows)
    number = lambda value: "" if value is None else f"{value:g}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# Kernels, {precision}: {source}\naccelerator,op,precision,batch,m,n,k,bytes,time_us,"
                   "direction,sum,kernel,causal,repeats,clock_mhz,power_w\n")
        for row in rows:
            what, load = row["what"], ",".join(number(row[name]) for name in ("repeats", "clock_mhz", "power_w"))
            if what == "memory":  # bytes are bytes, in any precision
                op = "copy" if row["name"] == "copy" else "elementwise"
                file.write(f"{accelerator},{op},{precision},,,,,{number(row['bytes'])},{number(row['time_us'])},,,,,{load}\n")
            elif row["precision"] == precision and (what in ("gemm", "grouped") or what == "attention" and row["kernel"] == kernel):
                size = ",".join(f"{row[name]:.0f}" for name in ("batch", "m", "n", "k"))
                file.write(f"{accelerator},{what},{precision},{size},,{number(row['time_us'])},{row['name']},{row['sum']},"
                           f"{row['kernel']},{row['causal']},{load}\n")
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
    """Prints what has no file: for power in the accelerator's file, for the software profile, for comparing operators."""
    for row in rows:
        label, took = f"{row['what']} {row['name']}", row["time_us"]
        if row["what"] == "power":
            yield f"{label}: {row['power_w']:.0f} W"
        elif row["what"] == "launch":
            yield f"{label}: {took:.2f} us a kernel"
        elif row["what"] == "attention":
            # Causal: half the products; backward makes five of them where forward makes two.
            flops = row["batch"] * row["m"] * row["n"] * row["k"] * (2 if row["name"] == "forward" else 5)
            yield (f"{label} {row['kernel']} {row['batch']:.0f} x {row['m']:.0f} tokens, heads of {row['k']:.0f}: "
                   f"{flops / took / 1e6:.1f} TFLOP/s")
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
    one.add_argument("--dry-run", action="store_true", help="measure nothing: made-up times, to try what reads the file")
    one.add_argument("--quick", action="store_true", help="tiny shapes: tries the script, measures nothing of worth")
    two = commands.add_parser("files", help="calibration files and scenarios of a measured file")
    two.add_argument("file")
    two.add_argument("--accelerator", required=True, help="id in the catalogue")
    two.add_argument("--out", default=".", help="folder")
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.file, given.device, given.quick, given.dry_run)
    else:
        files(given.file, given.accelerator, given.out)


if __name__ == "__main__":
    main()
