"""The host side with real kernels: what kernel files do before and around a launch."""

import enum
import importlib.util
import os
import signal

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest
from blockscope import knobs
from blockscope.frontend import module_annotations
from blockscope.runtime import hooks

torch = pytest.importorskip("torch")


@triton.jit
def row_sums(x_ptr, out_ptr, stride, n_rows, n_cols, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=num_stages):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + offsets, mask=offsets < n_cols, other=0.0)
        tl.store(out_ptr + row, tl.sum(x, axis=0))


@pytest.mark.parametrize("pass_constants", [True, False])
def test_occupancy_before_the_launch(pass_constants):
    active = triton.runtime.driver.active
    properties = active.utils.get_device_properties(active.get_active_torch_device().index)
    x, out = torch.rand(70, 50), torch.zeros(70)
    arguments = (x, out, x.stride(0), 70, 50)
    kernel = row_sums.warmup(*arguments, BLOCK=64, num_stages=2, num_warps=4, grid=(1,))
    kernel._init_handles()
    assert active.get_current_target().backend == kernel.metadata.target.backend == "cpu"
    occupancy = properties["max_num_regs"] // (kernel.n_regs * properties["warpSize"] * 4)
    occupancy = min(occupancy, properties["max_shared_mem"] // kernel.metadata.shared)
    programs = min(properties["multiprocessor_count"] * occupancy, 70)
    assert not out.any()
    kernel[(programs, 1, 1)](*arguments, *((64, 2) if pass_constants else ()))
    torch.testing.assert_close(out, x.sum(1))


def scaled(configs, **options):
    @triton.autotune(configs, key=["n"], **options)
    @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @triton.jit
    def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            value = tl.load(x_ptr + offsets)
        else:
            value = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.atomic_add(out_ptr + offsets, value * 2, mask=offsets < n)

    return scale


@pytest.mark.parametrize("mode", ["whole", "step", "check"])
@pytest.mark.parametrize("n", [1000, 1024])
def test_autotune_of_a_kernel_that_accumulates(mode, n, monkeypatch):
    configs = [triton.Config({"BLOCK": b}, num_warps=w) for b in (128, 256) for w in (4, 8)]
    kernel = scaled(configs, reset_to_zero=["out_ptr"])
    x, out = torch.rand(n), torch.ones(n)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    if mode == "check":
        with triton.check("asan,tsan") as report:
            kernel[grid](x, out.zero_(), n)
        report.raise_on_error()
    else:
        monkeypatch.setenv("TRITON_INTERPRET", str(int(mode == "step")))
        kernel[grid](x, out.zero_() if mode == "step" else out, n)
    torch.testing.assert_close(out, x * 2)
    assert kernel.best_config in configs
    assert len(kernel.configs_timings) == (4 if mode == "whole" else 0)
    assert kernel.fn.jit_function.__name__ == "scale" and "def scale" in kernel.src


def test_static_assert_rules_a_config_out():
    @triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 128, 256)], key=["n"])
    @triton.jit
    def fill(out_ptr, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK == 128, "only 128")
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offsets, 1.0, mask=offsets < n)

    out = torch.zeros(200)
    fill[lambda meta: (triton.cdiv(200, meta["BLOCK"]),)](out, 200)
    assert out.all() and fill.best_config.kwargs == {"BLOCK": 128}


def test_hooks_see_the_launch():
    @triton.jit(launch_metadata=lambda grid, kernel, args: {"name": "mine", "bytes": args["n"] * 4})
    def fill(out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(out_ptr + offsets, 1.0, mask=offsets < n)

    seen = []
    hook = lambda metadata: seen.append(metadata.get())
    knobs.runtime.launch_enter_hook.add(hook)
    try:
        fill[(1,)](torch.zeros(20), 20, BLOCK=32)
    finally:
        knobs.runtime.launch_enter_hook.remove(hook)
    assert seen[0]["name"] == "mine" and seen[0]["bytes"] == 80


def test_do_bench_of_a_kernel():
    x, out = torch.rand(70, 50), torch.zeros(70)
    launch = lambda: row_sums[(70,)](x, out, 50, 70, 50, BLOCK=64, num_stages=1)
    assert 0 < triton.testing.do_bench(launch, warmup=1, rep=5) < 1000


def test_triton_shared_driver():
    from blockscope.backends.triton_shared.driver import CPUDriver

    triton.runtime.driver.set_active(CPUDriver())
    try:
        x, out = torch.rand(70, 50), torch.zeros(70)
        row_sums[(7,)](x, out, 50, 70, 50, BLOCK=64, num_stages=1)
        torch.testing.assert_close(out, x.sum(1))
    finally:
        triton.runtime.driver.reset_active()


def test_set_interpret_mode():
    seen = []

    @triton.jit
    def fill(out_ptr, BLOCK: tl.constexpr):
        seen.append("python")
        tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)

    out = torch.zeros(16)
    with knobs.runtime.scope():
        triton.set_interpret_mode(True)
        fill[(2,)](out, BLOCK=16)
    assert seen == ["python"] * 2 and out.all()


def test_compile_ahead_of_a_launch():
    signature = {
        "x_ptr": "*fp32",
        "out_ptr": "*fp32",
        "stride": "i32",
        "n_rows": "i32",
        "n_cols": "i32",
    }
    source = triton.compiler.ASTSource(row_sums, signature, {"BLOCK": 64, "num_stages": 1})
    kernel = triton.compile(source)
    assert "tl.load" in kernel.asm["ttir"] and kernel.shared == kernel.metadata.shared
    kernel = row_sums.warmup(torch.float16, triton.MockTensor(tl.float32), 1, 2, 3, BLOCK=64,
                             num_stages=1, grid=(1,))  # fmt: skip
    assert "f16" in kernel.asm["ttir"]
    with pytest.raises(ValueError, match="'y_ptr' in 'signature'"):
        triton.compiler.ASTSource(row_sums, {"y_ptr": "*fp32"})


@triton.jit
def one_more(x_ptr, n):
    tl.store(x_ptr, tl.load(x_ptr) + n)


@pytest.mark.parametrize("steps", [False, True])
def test_what_an_argument_is(steps, monkeypatch):
    if steps:
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    kernel = triton.jit(one_more.fn)
    x = np.array(3.0)  # memory, as a tensor without dimensions is
    kernel[(1,)](x, np.float32(2))
    assert float(x) == 5.0
    for wrong in (("x", 2), (x, "2")):
        with pytest.raises(Exception, match="the str '[x2]' cannot be an operand beside a tensor|"
                           "tl.load: pointer"):  # fmt: skip
            kernel[(1,)](*wrong)


@triton.jit
def unflatten(X, Y=None):
    pid = tl.program_id(0)
    if Y is None:
        return pid % X, pid // X
    return pid % X, (pid // X) % Y


@pytest.mark.parametrize("step", [False, True])
def test_none_is_none_in_nested_functions(step, monkeypatch):
    @triton.jit
    def fill(out_ptr, bias_ptr, W: tl.constexpr, S: tl.constexpr):
        x, y = unflatten(W)
        value = y * 10 + x
        if bias_ptr is not None:
            value += tl.load(bias_ptr)
        if S is None:
            tl.store(out_ptr + y * W + x, value)

    monkeypatch.setenv("TRITON_INTERPRET", str(int(step)))
    out = torch.zeros(6, dtype=torch.int32)
    fill[(6,)](out, None, W=3, S=None)
    assert out.tolist() == [0, 1, 2, 10, 11, 12]


@tl.constexpr
def wider(dtype):
    return tl.float64 if dtype == tl.float32 else dtype


@pytest.mark.parametrize("step", [False, True])
def test_python_function_in_a_constexpr(step, monkeypatch):
    @triton.jit
    def kernel(x_ptr, out_ptr):
        dtype: tl.constexpr = wider(x_ptr.dtype.element_ty)
        x = tl.load(x_ptr).to(dtype)
        tl.store(out_ptr, x / 3)

    monkeypatch.setenv("TRITON_INTERPRET", str(int(step)))
    out = torch.zeros(1, dtype=torch.float64)
    kernel[(1,)](torch.ones(1), out)
    assert out.item() == 1 / 3
    assert kernel.__globals__ is globals()


@triton.jit
def smallest(dtype):
    kind = dtype.value
    if kind.is_floating():
        value: tl.constexpr = float("-inf")
        return value
    value: tl.constexpr = -(2 ** (kind.int_bitwidth - 1))
    return value


@pytest.mark.parametrize("step", [False, True])
def test_dtypes_are_constexpr_in_nested_functions(step, monkeypatch):
    @triton.jit
    def kernel(out_ptr, n):
        twice: tl.constexpr = n * 2  # only known at run time: taken as it is
        tl.store(out_ptr, smallest(out_ptr.dtype.element_ty))
        tl.store(out_ptr + 1, twice)

    monkeypatch.setenv("TRITON_INTERPRET", str(int(step)))
    out = torch.zeros(2, dtype=torch.int16)
    kernel[(1,)](out, 5)
    assert out.tolist() == [-32768, 10]


@triton.jit
def decayed(a, b):
    return a * 1.0 + tl.where(b > 0, b, b * 0.5)


@pytest.mark.parametrize("step", [False, True])
def test_numbers_in_the_combine_function_of_a_scan(step, monkeypatch):
    @triton.jit
    def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets)
        tl.store(out_ptr + offsets, tl.associative_scan(x, 0, decayed))

    monkeypatch.setenv("TRITON_INTERPRET", str(int(step)))
    x, out = torch.rand(16), torch.zeros(16)
    kernel[(1,)](x, out, BLOCK=16)
    torch.testing.assert_close(out, x.cumsum(0))


def test_a_default_precision_that_only_python_knows(monkeypatch):
    """A knob counts also where it is kept out of the environment."""
    monkeypatch.delenv("TRITON_F32_DEFAULT", raising=False)
    monkeypatch.setattr(knobs, "propagate_env", False)

    @triton.jit
    def dot(a_ptr, out_ptr):
        i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
        tl.store(out_ptr + i, tl.dot(tl.load(a_ptr + i), tl.load(a_ptr + i)))

    a = torch.rand(16, 16) + 1 / 3
    exact, rounded = torch.zeros(16, 16), torch.zeros(16, 16)
    dot[(1,)](a, exact)
    with knobs.language.scope():
        knobs.language.fp32_default = "tf32"
        dot[(1,)](a, rounded)
    assert not torch.equal(exact, rounded)
    torch.testing.assert_close(exact, a @ a)


class TookTooLong(Exception):
    pass


@pytest.mark.parametrize("step", [False, True])
def test_what_a_signal_handler_raises_is_no_error_of_the_kernel(step, monkeypatch):
    @triton.constexpr_function
    def sent():
        os.kill(os.getpid(), signal.SIGUSR1)
        return 1

    @triton.jit
    def kernel(x_ptr):
        tl.store(x_ptr, sent())

    def handler(number, frame):
        raise TookTooLong

    monkeypatch.setenv("TRITON_INTERPRET", str(int(step)))
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(TookTooLong):
            kernel[(1,)](torch.zeros(1))
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_failed_assert_is_a_runtime_error():
    @triton.jit
    def kernel(x_ptr):
        tl.device_assert(tl.load(x_ptr) > 0, "not positive")

    with pytest.raises(RuntimeError, match="not positive"):
        kernel[(1,)](torch.zeros(1), debug=True)


def test_a_kernel_that_was_returned_is_launched_with_its_options():
    @triton.jit
    def kernel(x_ptr):
        tl.device_assert(tl.load(x_ptr) > 0, "not positive")

    compiled = kernel.warmup(torch.ones(1), num_warps=8, debug=True, grid=(1,))
    seen = []
    with hooks.intercepted(lambda run, fn, args, grid, options, warmup: seen.append(options)):
        compiled[(1, 1, 1)](torch.ones(1))
    assert seen == [{"num_warps": 8, "debug": True}]
    with pytest.raises(RuntimeError, match="not positive"):
        compiled[(1, 1, 1)](torch.zeros(1))


def test_methods_of_a_reinterpreted_tensor():
    base = torch.arange(6, dtype=torch.int8).reshape(2, 3)
    seen = triton.reinterpret(base, tl.float8e5)
    copy = seen.clone()
    assert copy.dtype is tl.float8e5 and copy.data_ptr() != seen.data_ptr()
    assert torch.equal(copy.base, base) and copy.stride() == (3, 1) and copy.stride(1) == 1
    empty = seen.new_empty((4, 2))
    assert list(empty.shape) == [4, 2] and empty.dtype is tl.float8e5
    assert seen.to("cpu").dtype is seen.cpu().dtype is tl.float8e5
    assert seen.numel() == 6 and seen.element_size() == 1
    assert torch.equal(copy.copy_(triton.reinterpret(base + 1, tl.float8e5)).base, base + 1)
    assert triton.reinterpret(copy, torch.int8) is copy.base
    with pytest.raises(TypeError, match="expected a device"):
        seen.to(torch.float32)


def fails(format):
    raise NameError("an annotation names what is not there")


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize("make", [None, "late", fails])
def test_annotations_of_a_module(step, future, make, tmp_path, monkeypatch):
    """Python 3.14 keeps a function that makes them in place of the dict, and it may fail."""
    path = tmp_path / "annotated.py"
    path.write_text(
        f"{future}import blockscope as triton\nimport blockscope.language as tl\n"
        "X: tl.constexpr = 3\n\n"
        "@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, X)\n"
    )
    spec = importlib.util.spec_from_file_location("annotated", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if make is not None:
        found = vars(module).pop("__annotations__", {"X": tl.constexpr})
        module.__dict__["__annotate__"] = fails if make is fails else lambda format: found
    monkeypatch.setenv("TRITON_INTERPRET", str(int(step)))
    x = torch.zeros(1)
    module.kernel[(1,)](x)
    assert x[0] == 3


@pytest.mark.parametrize(
    "text, found",
    [
        ("X: tl.constexpr = 3", "tl.constexpr"),
        ("X: 'tl.constexpr' = 3", "tl.constexpr"),
        ("if a:\n    pass\nelse:\n    X: constexpr", "constexpr"),
        ("try:\n    b\nexcept E:\n    X: int = 3", "int"),
        ("X: int = 1\nX: tl.constexpr = 3", "tl.constexpr"),
        ("X = 3\nY: tl.constexpr = 3\na.X: tl.constexpr = 4", None),
        ("def f():\n    X: tl.constexpr = 3\nclass C:\n    X: tl.constexpr = 3", None),
    ],
)
def test_annotations_in_the_text_of_a_module(text, found):
    assert module_annotations.written(text, "X") == found


class Mode(enum.IntEnum):
    FIRST = 1
    LAST = 9


class Half(float):
    pass


@pytest.mark.parametrize("step", [False, True])
def test_numbers_of_classes_of_the_user(step, monkeypatch):
    @triton.jit
    def kernel(out_ptr, mode, factor, pair, MODE: tl.constexpr):
        tl.store(out_ptr, mode * factor + pair[0] + MODE)

    monkeypatch.setenv("TRITON_INTERPRET", str(int(step)))
    out = torch.zeros(1)
    for mode in (Mode.LAST, Mode.FIRST, Mode.LAST):
        kernel[(1,)](out, mode, Half(0.5), (mode, 2), MODE=mode)
        assert out[0] == mode * 0.5 + 2 * mode


@triton.jit(debug=True)
def asserting(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 0, "not positive")


def test_a_launch_decides_about_asserts_before_jit_does():
    x = torch.zeros(1)
    for _ in range(2):  # the second launch is repeated in C++
        asserting[(1,)](x, debug=False)
        with pytest.raises(triton.TritonError, match="not positive"):
            asserting[(1,)](x)


@triton.jit
def promising(x_ptr, out_ptr):
    at = tl.arange(0, 4)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.expect_zero(x, at < 2))


def test_a_promise_of_zeros_is_an_assert():
    x, out = torch.tensor([0.0, 0.0, 1.0, 2.0]), torch.zeros(4)
    promising[(1,)](x, out, debug=True)
    assert torch.equal(x, out)
    promising[(1,)](x + 1, out)
    with pytest.raises(triton.TritonError, match="expect_zero expected x == 0"):
        promising[(1,)](x + 1, out, debug=True)


def test_short_names_of_types():
    from blockscope.runtime.jit import type_canonicalisation_dict as short

    names = {"float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "int32": "i32", "i32": "i32",
             "bool": "u1", "half": "fp16", "bf16": "bf16", "void": "void"}  # fmt: skip
    assert {name: short[name] for name in names} == names


@triton.jit
def weighted_sum(out_ptr, n, *xs, BLOCK: tl.constexpr = 32):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(len(xs)):
        total += tl.load(xs[k] + i, mask=i < n, other=0.0) * (k + 1)
    tl.store(out_ptr + i, total, mask=i < n)


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_a_kernel_that_takes_any_number_of_tensors(step, count):
    xs, out = [torch.rand(20) for _ in range(count)], torch.empty(20)
    triton.set_interpret_mode(step)
    try:
        weighted_sum[(1,)](out, 20, *xs)
    finally:
        triton.set_interpret_mode(False)
    expected = sum((k + 1) * x for k, x in enumerate(xs)) if xs else torch.zeros(20)
    torch.testing.assert_close(out, expected)
