"""What the GPU compiler makes of reductions, scans, sorts and so on, run by ptx_machine.py: right
results, no missing barrier, each element stored once.

Every 25th case, beginning with one that the commit's hash chooses, so that all of them run in time.
The last lines of pytest's output say which; BLK_MACHINE_CASES=7 runs those that begin with
number 7, and BLK_MACHINE_CASES=all runs all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import block_checks
import blockscope as triton
import blockscope.language as tl
import gpu_cases
import gpu_rows
import machine_cases
import numpy as np
import ptx_arithmetic
import ptx_machine
import ptx_matrix_machine
import pytest
from blockscope.runtime.jit import MockTensor
from op_cases import dtype_of

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
STEP, FIRST = machine_cases.chosen()
CASES = list(gpu_cases.ALL)[FIRST::STEP]
ARCHS = ("sm_90a", "sm_80")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


def compiled(kernel: Any, arguments: Sequence[Any], warps: int, arch: str, **constants: Any) -> Any:
    mocks = [
        MockTensor(tl.dtype(dtype_of(value))) if isinstance(value, np.ndarray) else value
        for value in arguments
    ]
    result = kernel.warmup(*mocks, **constants, grid=(1,), arch=arch, num_warps=warps)
    assert result.warnings == []
    return result


def launcher(arch: str) -> Any:
    def launch(kernel: Any, arguments: Sequence[Any], warps: int, constants: Any) -> None:
        result = gpu_rows.for_numbers(
            compiled(kernel, arguments, warps, arch, **constants), arguments
        )
        taken = [value if isinstance(value, np.ndarray) else np.int32(value) for value in arguments]
        count = len(ptx_machine.Machine(result.asm["ptx"], warps).parameters)
        ptx_machine.run(result, taken[:count])

    return launch


def test_there_are_cases() -> None:
    assert len(gpu_cases.ALL) == sum(len(cases) for cases in gpu_cases.CASES.values()) > 1000


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    arch = ARCHS[list(gpu_cases.ALL).index(name) // machine_cases.STEP % len(ARCHS)]
    gpu_cases.ALL[name](launcher(arch))


def test_each_commit_runs_another_part(monkeypatch: pytest.MonkeyPatch) -> None:
    firsts = {machine_cases.first_for(f"{commit:040x}") for commit in range(1000)}
    assert firsts == set(range(machine_cases.STEP))
    monkeypatch.setenv("BLK_MACHINE_CASES", "all")
    assert machine_cases.chosen() == (1, 0)
    monkeypatch.setenv("BLK_MACHINE_CASES", "7")
    assert machine_cases.chosen() == (machine_cases.STEP, 7)
    monkeypatch.setenv("BLK_MACHINE_CASES", "25")
    with pytest.raises(ValueError, match="BLK_MACHINE_CASES is '25', expected"):
        machine_cases.chosen()


def test_a_result_of_another_dtype_fails() -> None:
    x = np.zeros(32, np.int8)
    with pytest.raises(Exception, match="the result has another dtype"):
        block_checks.run_map(launcher("sm_90a"), lambda v: v.to(tl.int32), x, x, 1)


@triton.jit
def racy_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.sum(x))


def test_the_machine_finds_a_missing_barrier() -> None:
    x, out = np.ones(256, np.float32), np.zeros(1, np.float32)
    result = compiled(racy_kernel, [x, out], 4, "sm_90a", N=256)
    machine = ptx_machine.Machine(result.asm["ptx"], 4)
    machine.run((1, 1, 1), [x, out], result.metadata.shared)
    assert out[0] == 256 and machine.barriers == 1
    broken = ptx_machine.Machine(
        result.asm["ptx"].replace("bar.sync \t0;", "").replace("barrier.sync.aligned \t0;", ""), 4
    )
    with pytest.raises(ptx_machine.PtxError, match="just written|nobody has written"):
        broken.run((1, 1, 1), [x, out], result.metadata.shared)


@triton.jit
def modulo_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i % n, tl.load(x_ptr + i))


def test_several_threads_may_store_one_value_where_the_kernel_says_so() -> None:
    x, out = np.tile(np.arange(100, dtype=np.float32), 2)[:128], np.zeros(100, np.float32)
    result = compiled(modulo_kernel, [x, out, 100], 4, "sm_90a", N=128)
    machine = ptx_machine.Machine(result.asm["ptx"], 4)
    with pytest.raises(ptx_machine.PtxError, match="two threads store the same byte"):
        machine.run((1, 1, 1), [x, out, 100], result.metadata.shared)
    machine.stores_once = False
    machine.run((1, 1, 1), [x, out, 100], result.metadata.shared)
    assert (out == x[:100]).all()
    x[127] = -1
    with pytest.raises(ptx_machine.PtxError, match="different values"):
        machine.run((1, 1, 1), [x, out, 100], result.metadata.shared)


@triton.jit
def positive_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.maximum(tl.maximum(x, -x - 3), 0))


@pytest.mark.parametrize("dtype", [np.int32, np.float16])
def test_what_becomes_at_least_0_does_in_the_machine(dtype: Any) -> None:
    x, out = np.arange(-16, 16).astype(dtype), np.zeros(32, dtype)
    result = compiled(positive_kernel, [x, out], 1, "sm_90a", N=32)
    if dtype is np.int32:
        assert "max.relu.s32" in result.asm["ptx"]
    ptx_machine.run(result, [x, out])
    assert (out == np.maximum(np.maximum(x, -x - 3), 0)).all()
    unknown = ptx_machine.Machine(result.asm["ptx"].replace("max.", "max.sat."), 1)
    with pytest.raises(ptx_machine.PtxError, match="no instruction 'max.sat"):
        unknown.run((1, 1, 1), [x, out], result.metadata.shared)


@triton.jit
def three_kernel(x_ptr, out_ptr, N: tl.constexpr):
    total = tl.load(x_ptr) * tl.load(x_ptr + 1) + tl.load(x_ptr + 2)
    tl.store(out_ptr + tl.arange(0, N), total)


def test_a_vector_may_hold_what_nobody_reads_and_nobody_owns() -> None:
    x, out = np.array([2, 3, 4], np.float32), np.zeros(32, np.float32)
    ptx_machine.run(compiled(three_kernel, [x, out], 1, "sm_90a", N=32), [x, out])
    assert (out == 10).all()


@triton.jit
def sines_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.sin(tl.load(x_ptr + i)))


def test_the_machine_has_local_memory_and_carries_for_sines_of_large_numbers() -> None:
    x = np.array([0, 1, -3, 1e5, 2.5e8, -7e20, 3e38, 0.1], np.float32).repeat(16)
    out = np.zeros_like(x)
    launcher("sm_90a")(sines_kernel, [x, out], 4, {"N": 128})
    np.testing.assert_allclose(out, np.sin(x.astype(np.float64)), rtol=0, atol=2e-7)


@triton.jit
def sines_and_cosines_kernel(x_ptr, sin_ptr, cos_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(sin_ptr + i, tl.sin(x))
    tl.store(cos_ptr + i, tl.cos(x))


def test_a_thread_with_one_large_element_has_right_sines_of_all() -> None:
    """128 threads have 8 elements each: in some of them all are small, in others one is not."""
    random = np.random.default_rng(3)
    x = (random.standard_normal(1024) * 10.0 ** random.uniform(-6, 4.5, 1024)).astype(np.float32)
    x[::24] = 10.0 ** random.uniform(4.5, 38, len(x[::24]))
    x[:16:2] = [0, np.inf, -np.inf, np.nan, 105615, -105615, 105614.99, 1e-40]
    sines, cosines = np.zeros((2, 1024), np.float32)
    launcher("sm_90a")(sines_and_cosines_kernel, [x, sines, cosines], 4, {"N": 1024})
    with np.errstate(invalid="ignore"):
        wanted = np.sin(x.astype(np.float64)), np.cos(x.astype(np.float64))
    np.testing.assert_allclose((sines, cosines), wanted, rtol=0, atol=2e-7)


@triton.jit
def remainders_kernel(x_ptr, y_ptr, out_ptr, one_ptr, eight_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x % tl.load(y_ptr + i))
    tl.store(one_ptr + i, x % 1.0)
    tl.store(eight_ptr + i, x % -8.0)


@pytest.mark.parametrize("size", [128, 2048])
@pytest.mark.parametrize("units", [-2, 0, 2])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_remainders_are_exact(
    dtype: Any, units: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where div.full is off by the units that PTX allows; of a thread's one or 16 elements all
    have small quotients, or some have not."""
    divide = ptx_arithmetic.Arithmetic.op_div

    def inexactly(machine: Any, i: Any, at: np.ndarray) -> None:
        divide(machine, i, at)
        if "full" in i.parts:
            quotients = machine.number(i.operands[0], at, "f32")
            for _ in range(abs(units)):
                quotients = np.nextafter(quotients, np.float32(np.copysign(np.inf, units)))
            machine.put(i.operands[0], at, quotients)

    monkeypatch.setattr(ptx_arithmetic.Arithmetic, "op_div", inexactly)
    random = np.random.default_rng(5)
    most = 4 if dtype == np.float16 else 6
    x, y = random.standard_normal((2, 2048)) * 10.0 ** random.uniform(-3, most / 2, (2, 2048))
    x[::2] = np.rint(x[::2] * 8) / 8
    y[::4] = random.integers(1, 9, 512)  # quotients that are whole, or next to it
    x, y = x.astype(dtype), y.astype(dtype)
    x[1::4] = (y * random.integers(-1000, 1000, 2048).astype(dtype))[1::4]
    large = np.finfo(dtype).max
    tiny = np.finfo(dtype).smallest_subnormal
    x[8:1024:72], y[8:1024:72] = large, random.uniform(0.5, 3, 15).astype(dtype)
    specials = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, large, tiny, -tiny], dtype)
    x[1024:1124], y[1024:1124] = np.repeat(specials, 10), np.tile(specials, 10)
    results = np.zeros((3, 2048), dtype)
    kernel = compiled(remainders_kernel, [x, y, *results], 4, "sm_90a", N=size)
    for first in range(0, 2048, size):
        part = slice(first, first + size)
        ptx_matrix_machine.run(kernel, [x[part], y[part], *(each[part] for each in results)])
    with np.errstate(all="ignore"):
        wanted = np.fmod(x, y), np.fmod(x, dtype(1)), np.fmod(x, dtype(-8))
    for got, want in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(got, want)
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])


@triton.jit
def scopes_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    text: tl.constexpr = "{ .reg .b32 a, half; shl.b32 a, $1, 3; { .reg .b32 a; add.u32 a, $1, 5; mov.b32 half, a; } add.u32 $0, a, half; }"  # noqa: E501
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.inline_asm_elementwise(text, "=r,r", [x], tl.int32, True, 1))


def test_the_machine_keeps_registers_of_scopes_apart() -> None:
    x = np.arange(128, dtype=np.int32)
    out = np.zeros_like(x)
    launcher("sm_90a")(scopes_kernel, [x, out], 4, {"N": 128})
    assert (out == 8 * x + x + 5).all()


@triton.jit
def round_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.extra.libdevice.round(tl.load(x_ptr + at)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_toward_zero(dtype: Any) -> None:
    """Half away from zero by a sum toward zero: a number that is whole, and odd, stays."""
    odd = 2.0 ** (np.finfo(dtype).nmant) + 1
    x = np.array([odd, -odd, 2.5, -2.5, 0.49999997, 0.0, -1.5, odd - 2], dtype)
    out = np.empty_like(x)
    launcher("sm_90a")(round_kernel, [x, out], 1, {"N": 8})
    np.testing.assert_array_equal(out, np.array([odd, -odd, 3, -3, 0, 0, -2, odd - 2], dtype))
