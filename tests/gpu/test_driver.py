"""The CUDA driver through _core.gpu: devices, loading, launching, streams, errors. No compiler."""

import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from blockscope import _core
from blockscope.errors import LaunchError, OutOfResources
from ptx import VECTOR_ADD, compiled_data

torch = pytest.importorskip("torch")
HERE = Path(__file__).parent


@pytest.fixture
def add():
    return _core.gpu.load(name="add", binary=VECTOR_ADD.encode() + b"\0", device=0)


def launch_add(add, x, y, out, stream=0):
    n = x.numel()
    add.launch((-(-n // 128), 1, 1), [x.data_ptr(), y.data_ptr(), out.data_ptr(), n], stream)


def test_devices():
    assert _core.gpu.device_count() >= 1
    properties = _core.gpu.device_properties(0)
    expected = torch.cuda.get_device_properties(0)
    assert properties["multiprocessor_count"] == expected.multi_processor_count
    assert properties["capability"] == 10 * expected.major + expected.minor
    assert properties["max_shared_mem"] >= 48 * 1024
    assert _core.gpu.driver_version() >= 12000


def test_vector_add(add, device):
    x, y = torch.rand(1000, device=device), torch.rand(1000, device=device)
    out = torch.zeros_like(x)
    launch_add(add, x, y, out, torch.cuda.current_stream().cuda_stream)
    assert torch.equal(out, x + y)
    assert add.n_regs > 0
    assert add.max_threads >= 128


def test_on_another_stream(add, device):
    x, y = torch.rand(1 << 16, device=device), torch.rand(1 << 16, device=device)
    out = torch.zeros_like(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    launch_add(add, x, y, out, stream.cuda_stream)
    stream.synchronize()
    assert torch.equal(out, x + y)


def test_in_a_graph(add, device):
    x, y = torch.rand(1 << 12, device=device), torch.rand(1 << 12, device=device)
    out = torch.zeros_like(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch_add(add, x, y, out, torch.cuda.current_stream().cuda_stream)
    assert out.abs().sum() == 0
    x += 1
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)


@pytest.fixture
def few_modules():
    before = _core.gpu.module_limit()
    _core.gpu.set_module_limit(4)
    yield
    _core.gpu.set_module_limit(before)


def load_adds(count):
    return [
        _core.gpu.load(name="add", binary=VECTOR_ADD.encode() + b"\0", device=0)
        for _ in range(count)
    ]


def launch_each(kernels, x, y):
    """Launches one after the other, waiting for each, and compares what they give."""
    for kernel in kernels:
        out = torch.zeros_like(x)
        launch_add(kernel, x, y, out, torch.cuda.current_stream().cuda_stream)
        assert torch.equal(out, x + y)


def test_code_is_unloaded_and_loaded_again(few_modules, device):
    x, y = torch.rand(1 << 12, device=device), torch.rand(1 << 12, device=device)
    before = _core.gpu.loaded_modules(0)
    kernels = load_adds(20)
    assert _core.gpu.loaded_modules(0) >= 20
    launch_each(kernels * 3, x, y)
    assert _core.gpu.loaded_modules(0) <= before + 8
    # Without waiting: what runs stays loaded.
    outs = [torch.zeros_like(x) for _ in range(200)]
    for i, out in enumerate(outs):
        launch_add(kernels[i % 20], x, y, out, torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    assert all(torch.equal(out, x + y) for out in outs)


def test_a_graph_keeps_its_code(few_modules, device):
    x, y = torch.rand(1 << 12, device=device), torch.rand(1 << 12, device=device)
    kernels = load_adds(26)
    outs = [torch.zeros_like(x) for _ in range(6)]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for kernel, out in zip(kernels[:6], outs, strict=True):
            launch_add(kernel, x, y, out, torch.cuda.current_stream().cuda_stream)
    launch_each(kernels[6:] * 3, x, y)
    assert _core.gpu.loaded_modules(0) >= 6
    graph.replay()
    torch.cuda.synchronize()
    assert all(torch.equal(out, x + y) for out in outs)


def test_code_is_loaded_during_a_capture(few_modules, device):
    x, y = torch.rand(1 << 12, device=device), torch.rand(1 << 12, device=device)
    kernels = load_adds(12)
    launch_each(kernels * 2, x, y)
    outs = [torch.zeros_like(x) for _ in kernels]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for kernel, out in zip(kernels, outs, strict=True):
            launch_add(kernel, x, y, out, torch.cuda.current_stream().cuda_stream)
    graph.replay()
    torch.cuda.synchronize()
    assert all(torch.equal(out, x + y) for out in outs)


def test_from_many_threads(add, device):
    x, y = torch.rand(1 << 12, device=device), torch.rand(1 << 12, device=device)
    outs = [torch.zeros_like(x) for _ in range(8)]

    def work(out):
        for _ in range(100):
            launch_add(add, x, y, out)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert all(torch.equal(out, x + y) for out in outs)


def test_on_every_device():
    for number in range(_core.gpu.device_count()):
        kernel = _core.gpu.load(name="add", binary=VECTOR_ADD.encode() + b"\0", device=number)
        x = torch.rand(256, device=f"cuda:{number}")
        out = torch.zeros_like(x)
        torch.cuda.synchronize(number)
        before = torch.cuda.current_device()
        launch_add(kernel, x, x, out)
        assert torch.cuda.current_device() == before
        torch.cuda.synchronize(number)
        assert torch.equal(out, x + x)


def test_wrong_names_and_binaries():
    with pytest.raises(LaunchError, match="kernel 'mul' is not in its binary"):
        _core.gpu.load(name="mul", binary=VECTOR_ADD.encode() + b"\0", device=0)
    with pytest.raises(LaunchError, match="kernel 'add' cannot be loaded"):
        _core.gpu.load(name="add", binary=b"no binary at all\0", device=0)
    with pytest.raises(LaunchError, match="there is no GPU 99"):
        _core.gpu.load(name="add", binary=VECTOR_ADD.encode() + b"\0", device=99)


def test_out_of_resources():
    limit = _core.gpu.device_properties(0)["max_shared_mem"]
    with pytest.raises(OutOfResources) as caught:
        _core.gpu.load(
            name="add", binary=VECTOR_ADD.encode() + b"\0", device=0, shared_bytes=limit + 16
        )
    assert (caught.value.required, caught.value.limit) == (limit + 16, limit)
    assert caught.value.name == "shared memory"


def test_large_shared_memory(device):
    limit = _core.gpu.device_properties(0)["max_shared_mem"]
    kernel = _core.gpu.load(
        name="add", binary=VECTOR_ADD.encode() + b"\0", device=0, shared_bytes=limit
    )
    x = torch.rand(256, device=device)
    out = torch.zeros_like(x)
    launch_add(kernel, x, x, out, torch.cuda.current_stream().cuda_stream)
    assert torch.equal(out, x + x)


def test_addresses(device):
    x = torch.zeros(16, device=device)
    assert _core.gpu.device_of_address(x.data_ptr()) == (0, x.data_ptr())
    assert _core.gpu.device_of_address(torch.zeros(16).data_ptr()) is None
    pinned = torch.zeros(16).pin_memory()
    assert _core.gpu.device_of_address(pinned.data_ptr()) is not None


def run_in_another_process(source, **environment):
    import os

    program = textwrap.dedent(source)
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=HERE,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )


WILD = """
    import torch
    from blockscope import _core
    from ptx import WILD_STORE
    kernel = _core.gpu.load(name="wild", binary=WILD_STORE.encode() + b"\\0", device=0, num_warps=1)
    torch.zeros(1, device="cuda")
    try:
        kernel.launch((3, 1, 1), [0x10], 0)
        if {wait}:
            _core.gpu.synchronize(0, 0)
    except RuntimeError as error:
        print(type(error).__name__, error)
"""


def test_illegal_address_found_by_waiting():
    result = run_in_another_process(WILD.format(wait=True))
    assert "LaunchError" in result.stdout, result.stderr
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in result.stdout
    assert "blockscope check --checks asan FILE" in result.stdout


def test_illegal_address_names_the_launch():
    result = run_in_another_process(WILD.format(wait=False), BLOCKSCOPE_SYNC="1")
    assert "LaunchError a kernel failed on GPU 0" in result.stdout, result.stderr
    assert "'wild' on grid (3, 1, 1)" in result.stdout
    assert "blockscope check --checks asan FILE" in result.stdout


def test_launcher_repeats_a_launch(device, monkeypatch):
    """From `kernel[grid](...)` to the GPU with a kernel that only the compiler is left out of."""
    import blockscope as triton
    import blockscope.language as tl
    from blockscope.runtime.backends.cuda import backend as gpu

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        tl.store(out, tl.load(x) + tl.load(y) + n)

    monkeypatch.setattr(
        gpu._core.gpu, "compile", lambda *_: (compiled_data("add", VECTOR_ADD), None)
    )
    x, y = torch.rand(1000, device=device), torch.rand(1000, device=device)
    out = torch.zeros_like(x)
    for _ in range(3):
        kernel = add[(8,)](x, y, out, 1000, BLOCK=128)
    assert torch.equal(out, x + y)
    assert add._launcher.stored() == 1
    assert kernel.metadata.num_warps == 4
    assert kernel.n_regs > 0
    out.zero_()
    add[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, out, n=1000, BLOCK=128)
    assert torch.equal(out, x + y)
    side = torch.cuda.Stream()
    out.zero_()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        add[(8,)](x, y, out, 1000, BLOCK=128)
    side.synchronize()
    assert torch.equal(out, x + y)
    graph = torch.cuda.CUDAGraph()
    out.zero_()
    with torch.cuda.graph(graph):
        add[(8,)](x, y, out, 1000, BLOCK=128)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)


def test_launch_overhead(device, monkeypatch):
    """Prints what one launch of eight arguments costs Python; the goal is under 4 us."""
    import blockscope as triton
    import blockscope.language as tl
    from blockscope.runtime.backends.cuda import backend as gpu

    @triton.jit
    def many(x, y, out, n, a, b, c, BLOCK: tl.constexpr):
        tl.store(out, tl.load(x) + tl.load(y) + n + a + b + c)

    rest = ", ".join(f".param .u32 p{name}" for name in "nabc")
    source = VECTOR_ADD.replace(".param .u32 pn)", rest + ")")
    data = compiled_data("add", source)
    monkeypatch.setattr(gpu._core.gpu, "compile", lambda *_: (data, None))
    x = torch.rand(128, device=device)
    out = torch.zeros_like(x)
    for _ in range(5):
        many[(1,)](x, x, out, 128, 2, 3, 5, BLOCK=128)
    torch.cuda.synchronize()
    assert many._launcher.stored() == 1
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(200):
            many[(1,)](x, x, out, 128, 2, 3, 5, BLOCK=128)
        best = min(best, (time.perf_counter() - start) / 200)
        torch.cuda.synchronize()
    print(f"\none launch of 8 arguments: {best * 1e6:.2f} us")
    assert best < 20e-6
