#!/usr/bin/env python3
"""tools/measure_gpu.py without a GPU and without PyTorch: what it plans, what it times on a device that takes known times, and what
it reads back."""
import importlib.util
import io
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
spec = importlib.util.spec_from_file_location("measure_gpu", os.path.join(ROOT, "tools", "measure_gpu.py"))
measure_gpu = importlib.util.module_from_spec(spec)
spec.loader.exec_module(measure_gpu)


class Device:
    """Time passes by what runs on it: 1 us a call of a product, and none on the host."""

    def __init__(self):
        self.now_s, self.shapes, self.streams = 0.0, [], []

    def run(self, shape):
        self.now_s += 1e-6
        self.shapes.append(shape)


class Tensor:
    def __init__(self, device, shape, dtype):
        self.device, self.shape, self.dtype = device, tuple(shape), dtype

    def t(self):
        return Tensor(self.device, self.shape[::-1], self.dtype)

    def __matmul__(self, other):
        assert self.shape[1] == other.shape[0], (self.shape, other.shape)
        assert self.dtype == other.dtype
        self.device.run((self.shape[0], other.shape[1], self.shape[1]))
        return Tensor(self.device, (self.shape[0], other.shape[1]), self.dtype)


def torch_of(device):
    """As much of PyTorch as products and their timing need."""
    torch = types.SimpleNamespace(bfloat16="bf16", float16="fp16", float32="fp32")
    torch.randn = lambda *shape, device=None, dtype="fp32": Tensor(current, shape, dtype)
    current = device

    def addmm(kept, a, b, out):
        assert out is kept and (a @ b).shape == kept.shape
        return out

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            self.at_s = device.now_s

        def synchronize(self):
            pass

        def elapsed_time(self, end):
            return (end.at_s - self.at_s) * 1e3

    class Stream:
        def wait_stream(self, other):
            device.streams.append((self, other))

    class Using:
        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            device.used.append(self.stream)

        def __exit__(self, *_):
            return False

    device.used = []
    main = Stream()
    torch.addmm = addmm
    torch.cuda = types.SimpleNamespace(Event=Event, Stream=Stream, stream=Using, current_stream=lambda: main, synchronize=lambda: None)
    return torch


class Plan(unittest.TestCase):
    def test_layouts_are_the_products_of_one_layer(self):
        rows, n, k = 96, 32, 16
        kernels = list(measure_gpu.layouts("gemm", "bf16", 1, rows, n, k, ("bf16", "fp32")))
        self.assertEqual([(x.name, x.m, x.n, x.k, x.sum) for x in kernels],
                         [("forward", rows, n, k, ""), ("input_gradient", rows, k, n, ""), ("weight_gradient", n, k, rows, ""),
                          ("weight_gradient", n, k, rows, "bf16"), ("weight_gradient", n, k, rows, "fp32")])
        self.assertEqual({measure_gpu.demands(x)[0] for x in kernels}, {2 * rows * n * k})

    def test_what_kernels_move(self):
        forward, _, alone, _, summed = measure_gpu.layouts("gemm", "bf16", 1, 96, 32, 16, ("bf16", "fp32"))
        self.assertEqual(measure_gpu.demands(forward)[1], 2 * (96 * 16 + 16 * 32 + 96 * 32))
        self.assertEqual(measure_gpu.demands(summed)[1] - measure_gpu.demands(alone)[1], (8 - 2) * 32 * 16)
        attention = measure_gpu.Kernel("attention", "backward", "bf16", 4, 128, 128, 64, kernel="cudnn", causal="yes")
        self.assertEqual(measure_gpu.demands(attention), (5 * 4 * 128 * 128 * 64, 8 * 4 * 128 * 64))

    def test_all_kinds_are_planned(self):
        for quick in (True, False):
            kernels = list(measure_gpu.plan(("bf16", "fp16", "fp32"), quick))
            self.assertEqual({x.what for x in kernels}, {"gemm", "grouped", "attention", "memory"})
            self.assertEqual({x.name for x in kernels if x.what == "grouped"}, {"forward", "input_gradient", "weight_gradient"})
            self.assertEqual({x.kernel for x in kernels if x.what == "attention"}, {"cudnn", "flash2"})
            self.assertFalse([x for x in kernels if x.sum and x.precision != "bf16"])
            self.assertEqual(len(kernels), len(set(kernels)) if quick else len(kernels))


class Timing(unittest.TestCase):
    def setUp(self):
        self.device = Device()
        self.bench = measure_gpu.Bench(torch_of(self.device), "cuda", True)
        patches = (mock.patch.object(measure_gpu.time, "perf_counter", lambda: self.device.now_s),
                   mock.patch.object(measure_gpu, "nvidia_smi", lambda field: "500, 1400"), mock.patch.object(sys, "stderr", io.StringIO()))
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def test_products_have_the_shape_that_is_planned(self):
        for kernel in measure_gpu.layouts("gemm", "bf16", 1, 96, 32, 16, ("bf16",)):
            self.bench.gemm(kernel)()
            self.assertEqual(self.device.shapes[-1], (kernel.m, kernel.n, kernel.k))

    def test_a_call_takes_what_the_device_took(self):
        kernel = measure_gpu.Kernel("gemm", "forward", "bf16", 1, 96, 32, 16)
        took, repeats, watts, mhz = self.bench.load(self.bench.gemm(kernel))
        self.assertAlmostEqual(took, 1e-6, delta=1e-12)
        self.assertEqual(repeats, len(self.device.shapes) - 2)  # but for the first two, which warm it up and tell how many fit
        self.assertEqual((watts, mhz), (500, 1400))

    def test_experts_share_four_streams(self):
        kernel = measure_gpu.Kernel("grouped", "forward", "bf16", 6, 96, 32, 16)
        self.bench.grouped(kernel)()
        self.assertEqual(len(self.device.shapes), 6)
        self.assertEqual(len(set(map(id, self.device.used))), 4)
        self.assertEqual(len(self.device.streams), 8)  # each waits for what was before, and is waited for

    def test_what_a_machine_has_not_is_left_out(self):
        with mock.patch.object(measure_gpu, "plan", lambda precisions, quick: measure_gpu.layouts("gemm", "bf16", 1, 96, 32, 16, ("bf16", "fp32"))):
            self.bench.kernels()
        self.assertEqual([(row["name"], row["sum"]) for row in self.bench.rows],
                         [("forward", ""), ("input_gradient", ""), ("weight_gradient", ""), ("weight_gradient", "bf16")])


class Files(unittest.TestCase):
    def test_what_is_written_is_read(self):
        bench = measure_gpu.DryRun()
        with mock.patch.object(sys, "stderr", io.StringIO()), tempfile.TemporaryDirectory() as folder:
            bench.measure(True)
            path = os.path.join(folder, "rows.csv")
            measure_gpu.write_rows(path, {"gpu": "none"}, bench.rows)
            head, rows = measure_gpu.read(path)
        self.assertEqual(head["gpu"], "none")
        self.assertEqual(len(rows), len(bench.rows))
        for row, written in zip(rows, bench.rows):
            self.assertEqual((row["what"], row["name"]), (written["what"], written["name"]))
            self.assertAlmostEqual(float(row["time_us"]) / written["time_us"], 1, delta=1e-5)


if __name__ == "__main__":
    unittest.main()
