"""Kernels compiled and launched on a GPU: examples, options, streams, graphs, threads, cache."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import blockscope as triton
import blockscope.language as tl
import pytest
from blockscope import knobs
from blockscope.errors import LaunchError

torch = pytest.importorskip("torch")


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.jit
def checked_copy(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.device_assert(value < 5, "too large")
    tl.store(out + i, value)


@triton.jit
def printing(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.device_print("x", tl.load(x + i))


@triton.jit
def which_target(out):
    if tl.target_info.is_cuda():
        tl.store(out, 7)
    else:
        tl.store(out, 1)


@triton.jit
def scale(x, out, factor, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * factor)


def inputs(n=1000):
    return torch.rand(n, device="cuda"), torch.rand(n, device="cuda"), torch.zeros(n, device="cuda")


def launch(x, y, out, **options):
    grid = (triton.cdiv(x.numel(), 128),)
    return add[grid](x, y, out, x.numel(), BLOCK=128, **options)


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_options(warps):
    x, y, out = inputs()
    kernel = launch(x, y, out, num_warps=warps)
    assert torch.equal(out, x + y)
    assert kernel.metadata.num_warps == warps


def test_compiled_kernel():
    x, y, out = inputs()
    kernel = launch(x, y, out)
    assert {"tl", "tlg", "llir", "ptx", "cubin", "ttir", "ttgir"} <= set(kernel.asm)
    assert ".entry" in kernel.asm["ptx"] and kernel.asm["cubin"][:4] == b"\x7fELF"
    assert kernel.n_regs > 0 and kernel.n_spills == 0 and kernel.n_max_threads >= 128
    assert kernel.metadata.target.arch == triton.runtime.driver.active.get_current_target().arch
    out.zero_()
    kernel[(triton.cdiv(1000, 128),)](x, y, out, 1000)
    assert torch.equal(out, x + y)
    warm = add.warmup(torch.float32, torch.float32, torch.float32, 1000, BLOCK=128, grid=(1,))
    assert warm is kernel


def test_views_scalars_and_target():
    x, y, out = inputs(1001)
    launch(x[1:], y[1:], out[1:])  # not aligned
    assert torch.equal(out[1:], x[1:] + y[1:]) and out[0] == 0
    for factor in (2, 1, 16, 0.5, True):
        scale[(1,)](x, out, factor, BLOCK=64)
        assert torch.equal(out[:64], x[:64] * factor)
    number = torch.zeros(1, dtype=torch.int32, device="cuda")
    which_target[(1,)](number)
    assert number.item() == 7


def test_empty_grid_and_wrong_devices():
    x, y, out = inputs()
    with pytest.warns(RuntimeWarning, match="no programs"):
        add[(0,)](x, y, out, 0, BLOCK=128)
    with pytest.raises(ValueError, match="argument 'y': tensor is on 'cpu'"):
        add[(1,)](x, y.cpu(), out, 100, BLOCK=128)
    add[(1,)](x, y.cpu().pin_memory(), out, 100, BLOCK=128)
    torch.cuda.synchronize()
    assert torch.equal(out[:100], (x + y)[:100])


def test_cpu_tensors_stay_on_the_cpu():
    x, y, out = (t.cpu() for t in inputs())
    launch(x, y, out)
    assert torch.equal(out, x + y)


def test_stream_and_graph():
    x, y, out = inputs(1 << 16)
    launch(x, y, out)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    out.zero_()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        launch(x, y, out)
    side.synchronize()
    assert torch.equal(out, x + y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(x, y, out)
    x += 1
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)


def test_threads():
    x, y, _ = inputs(1 << 12)
    outs = [torch.zeros_like(x) for _ in range(8)]
    failures = []

    def work(out):
        try:
            for _ in range(50):
                launch(x, y, out, num_warps=2)
        except Exception as error:
            failures.append(error)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert not failures
    assert all(torch.equal(out, x + y) for out in outs)


@pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.device_count() < 2, reason="needs two GPUs"
)
def test_second_device():
    x, y, out = (t.to("cuda:1") for t in inputs())
    for _ in range(3):
        out.zero_()
        launch(x, y, out)
        assert torch.equal(out, x + y)
    assert torch.cuda.current_device() == 0


def test_step_mode_and_checks_on_gpu_tensors():
    x, y, out = inputs(300)
    with triton.check("asan,tsan") as report:
        launch(x, y, out)
    assert report.clean and torch.equal(out, x + y)
    with triton.check("asan") as report:
        add[(3,)](x, y, out[:200], 300, BLOCK=128)
    assert [finding.code for finding in report] == ["outside-view"]
    out.zero_()
    with knobs.runtime.scope():
        triton.set_interpret_mode(True)
        launch(x, y, out)
    assert torch.equal(out, x + y)


def test_views_of_one_storage_are_copied_once():
    whole = torch.arange(256, dtype=torch.float32, device="cuda")
    with triton.check("asan") as report:
        add[(1,)](whole[:128], whole[128:], whole[:128], 128, BLOCK=128)
    assert report.clean
    want = torch.arange(128, device="cuda") * 2.0 + 128
    assert torch.equal(whole[:128], want)


def test_device_assert():
    x = torch.arange(8, dtype=torch.float32, device="cuda")
    out = torch.zeros_like(x)
    checked_copy[(1,)](x, out, BLOCK=8)  # asserts are compiled in only when asked for
    with pytest.raises(LaunchError, match="device-side assert failed: too large") as caught:
        checked_copy[(1,)](x, out, BLOCK=8, debug=True)
    assert "test_launch.py" in str(caught.value)
    checked_copy[(1,)](x - 5, out, BLOCK=8, debug=True)
    assert torch.equal(out, x - 5), "the context is still good"


@triton.jit
def summed(x_ptr, out_ptr):
    at = tl.arange(0, 8)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + 100)


def test_overflow_is_an_assert():
    x = torch.full((8,), 2**31 - 50, dtype=torch.int32, device="cuda")
    out = torch.zeros_like(x)
    summed[(1,)](x, out)
    assert torch.equal(out, x + 100), "it wraps"
    with pytest.raises(LaunchError, match="int32 overflow detected for operation add"):
        summed[(1,)](x, out, debug=True)
    summed[(1,)](x, out, debug=True, sanitize_overflow=False)


def test_several_ctas_run_as_one():
    x, y, out = inputs()
    launch(x, y, out, num_ctas=2)
    assert torch.equal(out, x + y)


def test_device_print(capfd):
    printing[(1,)](torch.arange(4, dtype=torch.float32, device="cuda"), BLOCK=4)
    torch.cuda.synchronize()
    lines = [line for line in capfd.readouterr().out.splitlines() if "x" in line]
    assert len(lines) == 4
    assert "pid (0, 0, 0)" in lines[3] and lines[3].endswith("3.000000")


def test_a_print_in_a_graph():
    x = torch.arange(4, dtype=torch.float32, device="cuda")
    printing[(1,)](x, BLOCK=4)
    graph = torch.cuda.CUDAGraph()
    with pytest.warns(RuntimeWarning, match="captured into a graph"), torch.cuda.graph(graph):
        for _ in range(3):
            printing[(1,)](x, BLOCK=4)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()


def test_hooks_and_metadata():
    x, y, out = inputs()
    seen = []
    with knobs.runtime.scope():
        hook = lambda metadata: seen.append(metadata.get())
        knobs.runtime.launch_enter_hook.add(hook)
        launch(x, y, out)
        knobs.runtime.launch_enter_hook.remove(hook)
    assert seen[0]["name"] == "add" and seen[0]["function"]


def test_autotune():
    configs = [
        triton.Config({"BLOCK": block}, num_warps=warps) for block in (64, 256) for warps in (1, 4)
    ]
    tuned = triton.autotune(configs, ["n"])(add)
    x, y, out = inputs(1 << 16)
    tuned[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, out, x.numel())
    assert torch.equal(out, x + y)
    assert len(tuned.configs_timings) == 4
    assert all(0 < times[0] < 100 for times in tuned.configs_timings.values())


def test_benchmarks():
    x, y, out = inputs(1 << 20)
    times = triton.testing.do_bench(lambda: launch(x, y, out), rep=20, return_mode="all")
    assert len(times) > 3 and 0 < min(times) < 10
    assert 0 < triton.testing.do_bench_cudagraph(lambda: launch(x, y, out), rep=5) < 10


CACHED = """
import sys, torch
sys.path.insert(0, {folder!r})
from blockscope import _core, knobs
from test_launch import add, inputs, launch
hits = []
knobs.compilation.listener = lambda **about: hits.append(about["cache_hit"])
x, y, out = inputs()
launch(x, y, out, num_stages=2)
assert torch.equal(out, x + y)
print(hits)
"""


def test_the_cache_on_disk(tmp_path):
    program = CACHED.format(folder=str(Path(__file__).parent))
    environment = {**os.environ, "BLOCKSCOPE_CACHE": "1", "TRITON_CACHE_DIR": str(tmp_path)}

    def run():
        result = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    assert run() == "[False]"
    assert run() == "[True]"
    (file,) = tmp_path.rglob("*.kernel")
    file.write_bytes(file.read_bytes()[:-100])
    assert run() == "[False]"
    assert run() == "[True]"
