"""Launches that C++ repeats by itself on the CPU: how many there are, and what they do."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest
import torch
from blockscope import knobs
from blockscope.errors import SanitizerError
from blockscope.runtime import hooks
from blockscope.tools.tensor_descriptor import TensorDescriptor

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def add():
    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr = 64):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = i < n
        tl.store(out + i, tl.load(x + i, inside) + tl.load(y + i, inside), inside)

    return add


def tensors(n=64, dtype=torch.float32):
    return torch.arange(n).to(dtype), torch.full((n,), 2).to(dtype), torch.zeros(n, dtype=dtype)


def short_of(kernel, launch, times=3):
    """How many of some launches went the short way, the first one not counted."""
    launch()
    before = kernel._launcher.short_launches()
    for _ in range(times):
        launch()
    return kernel._launcher.short_launches() - before


def test_tuples():
    @triton.jit
    def add_pair(pair, sizes, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        x = tl.load(pair[0] + i, i < sizes[0]) + tl.load(pair[1] + i, i < sizes[1])
        tl.store(out + i, x * sizes[2], i < sizes[0])

    x, y, out = tensors()
    launch = lambda n: add_pair[(1,)]((x, y), (n, n, 1), out, BLOCK=64)
    assert short_of(add_pair, lambda: launch(37)) == 3
    assert out[36] == 38 and out[37] == 0
    launch(50)
    assert out[49] == 51 and out[50] == 0
    with pytest.raises(
        SanitizerError, match=r"byte 32 of 'pair\.0'[^$]*sizes\.0 = 50, sizes\.1 = 50"
    ):
        add_pair[(1,)]((x[:8].clone(), y), (50, 50, 1), out, BLOCK=64)


def test_launches_of_an_example():
    program = f"""
import runpy, sys, torch, blockscope
blockscope.install_as_triton()
sys.path.insert(0, {str(EXAMPLES)!r})
names = runpy.run_path({str(EXAMPLES / "softmax.py")!r})
for rows, columns in ((37, 781), (16, 1024), (5, 900), (37, 781), (9, 200), (9, 180)):
    x = torch.randn(rows, columns)
    torch.testing.assert_close(names["softmax"](x), torch.softmax(x, dim=1))
launcher = names["softmax_kernel"]._launcher
print(launcher.short_launches(), launcher.stored())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # For blocks of 1024 one kernel, and one for strides that are multiples of 16; one for blocks of
    # 256.
    assert done.stdout.split() == ["3", "3"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8, torch.bfloat16])
@pytest.mark.parametrize("n", [64, 1, 0, 40])
def test_results(add, dtype, n):
    def launch():
        x, y, out = tensors(64, dtype)
        add[(1,)](x, y, out, n)
        assert torch.equal(out[:n], (x + y)[:n]) and not out[n:].any()

    assert short_of(add, launch) == 3


def test_what_goes_the_short_way(add):
    x, y, out = tensors()
    assert short_of(add, lambda: add[(1,)](x, y, out, 64)) == 3
    assert short_of(add, lambda: add[(1, 1)](x, y, out, n=64, BLOCK=32)) == 3
    assert short_of(add, lambda: add[lambda meta: (64 // meta["BLOCK"],)](x, y, out, 64)) == 3
    assert short_of(add, lambda: add[1,](x, y, out, 64, num_warps=8)) == 3
    assert short_of(add, lambda: add[(1,)](x[8:], y[8:], out[8:], 56)) == 3
    assert short_of(add, lambda: add[(1,)](torch.nn.Parameter(x), y, out, 64)) == 3
    wide = torch.zeros(8, 64)
    assert short_of(add, lambda: add[(1,)](wide[3], wide[4], wide.t()[0], 1)) == 3

    @triton.jit
    def copy(x, out):
        out.store([0, 0], x.load([0, 0]))

    @triton.jit
    def nothing():
        pass

    source, target = torch.randn(16, 16), torch.zeros(16, 16)
    descriptors = [TensorDescriptor.from_tensor(t, [16, 16]) for t in (source, target)]
    assert short_of(copy, lambda: copy[(1,)](*descriptors)) == 3
    assert torch.equal(source, target)
    assert short_of(nothing, lambda: nothing[(3,)]()) == 3


def test_what_python_looks_at(add, monkeypatch):
    x, y, out = tensors()
    launch = lambda: add[(1,)](x, y, out, 64)
    assert short_of(add, lambda: add[(1,)](x.numpy(), y, out, 64)) == 0
    assert short_of(add, lambda: add[(1,)](x, y, out, np.int32(64))) == 0
    with pytest.warns(RuntimeWarning, match="no programs"):
        assert short_of(add, lambda: add[(0,)](x, y, out, 64)) == 0

    assert short_of(add, launch) == 3
    calls = []
    knobs.runtime.launch_enter_hook.add(calls.append)
    try:
        assert short_of(add, launch) == 0 and len(calls) == 4
    finally:
        knobs.runtime.launch_enter_hook.remove(calls.append)
    with monkeypatch.context() as patch:
        patch.setattr(knobs, "runtime", knobs.runtime.copy())
        knobs.runtime.launch_enter_hook = calls.append
        assert short_of(add, launch) == 0 and len(calls) == 8
    with hooks.intercepted(lambda run, fn, args, *_: calls.append("instead")):
        assert short_of(add, launch) == 0 and calls[-4:] == ["instead"] * 4
    for environment in (True, False):
        with knobs.runtime.scope():
            if environment:
                monkeypatch.setenv("TRITON_INTERPRET", "1")
            else:
                triton.set_interpret_mode(True)
            assert short_of(add, launch) == 0
        monkeypatch.delenv("TRITON_INTERPRET", raising=False)
        assert short_of(add, launch) == 3
    add.add_pre_run_hook(lambda *args, **kwargs: calls.append("hook"))
    assert short_of(add, launch) == 0 and calls[-4:] == ["hook"] * 4
    add.pre_run_hooks.clear()
    add.run = lambda *args, **kwargs: calls.append("run")
    assert short_of(add, launch) == 0
    del add.run
    assert short_of(add, launch) == 3


@pytest.mark.parametrize("checks", ["asan", "tsan", "asan,tsan"])
def test_under_checks(add, checks):
    x, y, out = tensors()
    add[(1,)](x, y, out, 64)
    with triton.check(checks) as report:
        assert short_of(add, lambda: add[(1,)](x, y, out, 64)) == 3
        assert report.clean and report.launches == 4
        add[(1,)](x, y, out[:60], 64, BLOCK=64)
        for _ in range(2):  # the first one is of another alignment
            add[(1,)](x[1:], y, out, 64)
    assert add._launcher.short_launches() == 6, "the bad launches too"
    found = {finding.tensor for finding in report}
    assert found == ({"out", "x"} if "asan" in checks else {"x"})
    assert short_of(add, lambda: add[(1,)](x, y, out, 64)) == 3


def test_the_report_is_that_of_the_general_way(add):
    x, y, out = tensors()
    texts = []
    for hook in (None, lambda metadata: None):
        with knobs.runtime.scope():
            add[(1,)](x, y, out, 60, num_warps=2)
            knobs.runtime.launch_exit_hook = hook
            before = add._launcher.short_launches()
            with triton.check("asan") as report:
                add[(1,)](x, y, out[:50], 60, num_warps=2)
            assert add._launcher.short_launches() - before == (hook is None)
            texts.append(re.sub(r"number \d+", "number", report.text()))
    assert texts[0] == texts[1] and "out" in texts[0]


def test_a_check_that_stops_at_the_first_error(add):
    x, y, out = tensors()
    add[(1,)](x, y, out, 64)
    with pytest.raises(SanitizerError), triton.check("asan", stop_at_first=True):
        for _ in range(2):
            add[(1,)](x, y, out[:32], 64)
    assert add._launcher.short_launches() == 1
    add[(1,)](x, y, out, 64)  # launches of other threads do not wait


def test_traces(add, tmp_path):
    x, y, out = tensors()
    add[(1,)](x, y, out, 64)
    with triton.trace(tmp_path / "trace.h5") as recording:
        assert short_of(add, lambda: add[(1,)](x, y, out, 64)) == 3
        assert recording.launches == 4


def test_errors(add):
    x, y, out = tensors()
    for _ in range(2):  # by the general way, then by the short one
        with pytest.raises(SanitizerError, match="out") as caught:
            add[(1,)](x, y, out[:32].clone(), 64)
    package = Path(triton.__file__).parent
    assert not any(Path(entry.path).is_relative_to(package) for entry in caught.traceback)
    freed = torch.zeros(64)
    freed.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="'out'"):
        add[(1,)](x, y, freed, 64)


def test_asserts_and_prints(capfd, monkeypatch):
    @triton.jit
    def positive(x):
        tl.device_print("x", tl.load(x))
        tl.device_assert(tl.load(x) > 0, "not positive")

    bad, good = torch.tensor([-1]), torch.tensor([1])
    launch = lambda x, **options: positive[(1,)](x, **options)
    assert short_of(positive, lambda: launch(good)) == 3
    launch(bad)
    for _ in range(2):
        with pytest.raises(SanitizerError, match="not positive"):
            launch(bad, debug=True)
    with knobs.runtime.scope():
        knobs.runtime.debug = True
        for _ in range(2):
            with pytest.raises(SanitizerError, match="not positive"):
                launch(bad)
    positive.debug = True
    for _ in range(2):
        with pytest.raises(SanitizerError, match="not positive"):
            launch(bad)
    positive.debug = None
    launch(bad)


def test_a_kernel_that_a_grid_function_launches(add):
    x, y, out = tensors()
    z = torch.zeros(64)

    def grid(meta):
        add[(1,)](x, y, z, 64)
        return (1,)

    for _ in range(3):
        add[grid](z, y, out, 64)
    assert torch.equal(out, x + y + y)


def test_a_grid_function_is_called_once_a_launch_also_where_python_has_to_look(add):
    x, y, out = tensors()
    called = []

    def grid(meta):
        called.append(meta["BLOCK"])
        return (1, 1, 1, 1)  # four axes are for Python

    add[(1,)](x, y, out, 64)
    for times in range(1, 4):
        add[grid](x, y, out, 64)
        assert len(called) == times


def test_launches_of_threads(add):
    x, y, _ = tensors()
    wrong = []

    def work(number):
        for i in range(100):
            out = torch.zeros(64)
            add[(1,)](x, y, out, 64, BLOCK=64 if (i + number) % 2 else 128)
            if not torch.equal(out, x + y):
                wrong.append(i)

    workers = [threading.Thread(target=work, args=[i]) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong and add._launcher.short_launches() >= 700


def test_kernels_are_collected():
    import gc
    import weakref

    def launched():
        @triton.jit
        def scale(x):
            tl.store(x, tl.load(x) * 2)

        x = torch.ones(1)
        for _ in range(3):
            scale[(1,)](x)
        assert scale._launcher.stored() == 1
        return weakref.ref(scale)

    gone = launched()
    gc.collect()
    assert gone() is None


@triton.jit
def scaled(out, scale):
    tl.store(out, (tl.program_id(0) + 2) * scale)


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("scale", [2**31 - 1, 2**31, 2**32 - 1, -(2**31) - 1, 2**63, 2**64 - 1])
def test_numbers_beyond_int32_are_int64(scale, step):
    """As in Triton; literals in kernels have other rules. Beyond int64 they are uint64."""
    out = torch.zeros(1, dtype=torch.int64)
    bits = 32 if scale < 2**31 and scale >= -(2**31) else 64
    triton.set_interpret_mode(step)
    try:
        for _ in range(3):
            scaled[(1,)](out, scale)
            assert (int(out) - 2 * scale) % 2**bits == 0
    finally:
        triton.set_interpret_mode(False)


def test_kernels_compiled_before_torch_was_there(tmp_path):
    """The types of torch are found at the first launch, also where nothing is left to compile."""
    program = """
import blockscope as triton, blockscope.language as tl
@triton.jit
def add(x):
    tl.store(x, tl.load(x) + 1)
add.warmup(tl.float32, grid=(1,))
import torch
x = torch.zeros(1)
for _ in range(5):
    add[(1,)](x)
assert x[0] == 5 and add._launcher.short_launches() >= 3
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_error_says_what_the_launch_was_made_with(add):
    """Also where nothing watches, in Python, in C++ and step by step."""
    x, y, out = tensors()
    small = torch.zeros(50)

    def text():
        with pytest.raises(triton.TritonError) as caught:
            add[(1,)](x, y, small, 60, num_warps=2)
        return re.search(r"launch: number \d+ with (.*)", str(caught.value))[1]

    add[(1,)](x, y, out, 60, num_warps=2)
    before = add._launcher.short_launches()
    repeated = text()
    assert add._launcher.short_launches() == before + 1
    add.forget_kernels()
    assert text() == repeated and "n = 60" in repeated and "num_warps = 2" in repeated
    triton.set_interpret_mode(True)
    try:
        assert text() == repeated
    finally:
        triton.set_interpret_mode(False)
