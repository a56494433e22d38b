"""Long code for each element, a few elements of a thread at a time
(gpu_backend/passes/element_loops). PTX run by ptx_machine.py."""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def derivatives(
    s_ptr, k_ptr, t_ptr, out_ptr, more_ptr, last_ptr, n, BLOCK: tl.constexpr,
    HINT: tl.constexpr = False,
):  # fmt: skip
    """Options' prices and what these depend on: all the results of an element are held until the
    last one is known."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if HINT:
        at = tl.multiple_of(at, BLOCK)
    inside = at < n
    s = tl.load(s_ptr + at, mask=inside, other=1.0)
    k = tl.load(k_ptr + at, mask=inside, other=1.0)
    t = tl.load(t_ptr + at, mask=inside, other=1.0)
    root = tl.sqrt(t)
    near = tl.log(s / k) / root + 0.5 * root
    far = near - root
    density = tl.exp(-0.5 * near * near) * 0.4
    first, second = 0.5 * (1.0 + tl.erf(near * 0.7)), 0.5 * (1.0 + tl.erf(far * 0.7))
    price = s * first - k * second
    tl.store(out_ptr + at, price, mask=inside)
    tl.store(more_ptr + at, density / (s * root) + price / t, mask=inside)
    tl.store(last_ptr + at, (s * density) / root - k * second * tl.exp(-t), mask=inside)


def wanted(s: Any, k: Any, t: Any) -> list[Any]:
    s, k, t = s.double(), k.double(), t.double()
    root = t.sqrt()
    near = (s / k).log() / root + 0.5 * root
    density = torch.exp(-0.5 * near * near) * 0.4
    first, second = (0.5 * (1.0 + torch.erf(x * 0.7)) for x in (near, near - root))
    price = s * first - k * second
    return [
        price,
        density / (s * root) + price / t,
        (s * density) / root - k * second * torch.exp(-t),
    ]


def options(n: int, dtype: Any) -> list[Any]:
    torch.manual_seed(3)
    return [(0.5 + torch.rand(n, dtype=torch.float64)).to(dtype) for _ in range(3)]


@pytest.mark.parametrize("n", [2048, 2047, 1025, 300])
@pytest.mark.parametrize("warps", [1, 4])
def test_parts_of_float64(n: int, warps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    inputs = options(n, torch.float64)
    results = [torch.full((n,), -7.0, dtype=torch.float64) for _ in range(3)]
    block = 512 * warps
    derivatives[(-(-n // block),)](*inputs, *results, n, BLOCK=block, num_warps=warps)
    for result, want in zip(results, wanted(*inputs), strict=True):
        torch.testing.assert_close(result, want, rtol=1e-6, atol=1e-7)  # constants are float32
    assert "a few of a thread at a time" in kernels[0].asm["plan"]
    assert kernels[0].n_regs <= 128


@pytest.mark.parametrize(("dtype", "block"), [("float64", 128), ("float32", 1024)])
def test_code_that_fits_is_one_piece(
    dtype: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one element of float64 for a thread, or short code, there is no loop."""
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    inputs = options(1024, getattr(torch, dtype))
    results = [torch.zeros_like(inputs[0]) for _ in range(3)]
    derivatives[(1024 // block,)](*inputs, *results, 1024, BLOCK=block, num_warps=4)
    for result, want in zip(results, wanted(*inputs), strict=True):
        torch.testing.assert_close(result.double(), want, rtol=1e-3, atol=1e-4)
    assert "a few of a thread" not in kernels[0].asm["plan"]


def test_results_over_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a result takes the place of an input, shifted or not, all is loaded first."""
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    for shift in (0, 256):
        s, k, t = options(1024, torch.float64)
        want = wanted(s, k, t)
        room = torch.cat([s, torch.zeros(shift, dtype=torch.float64)])
        out = room[shift:]
        more, last = torch.zeros_like(s), torch.zeros_like(s)
        derivatives[(1,)](room[:1024], k, t, out, more, last, 1024, BLOCK=1024, num_warps=2)
        for result, each in zip((out, more, last), want, strict=True):
            torch.testing.assert_close(result, each, rtol=1e-6, atol=1e-7)
        assert "a few of a thread" not in kernels[-1].asm["plan"]


def test_results_over_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two results share memory, all of the second one is stored behind the first one."""
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    s, k, t = options(1024, torch.float64)
    want = wanted(s, k, t)
    room = torch.zeros(1024 + 256, dtype=torch.float64)
    out, more, last = room[256:], room[:1024], torch.zeros_like(s)
    derivatives[(1,)](s, k, t, out, more, last, 1024, BLOCK=1024, num_warps=2)
    assert "a few of a thread" not in kernels[-1].asm["plan"]
    torch.testing.assert_close(more, want[1], rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(out[768:], want[0][768:], rtol=1e-6, atol=1e-7)


@triton.jit
def both_ends(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Stores twice to one argument, the second time over some of the first one's elements."""
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.exp(tl.log(x) * 0.3) / tl.sqrt(x + 1.0) + tl.erf(x) / (x + 2.0)
    z = tl.exp(y * 0.2) / (y + x) + tl.log(y + 3.0) * x + tl.exp(-x) / tl.sqrt(y + x)
    tl.store(out_ptr + at + BLOCK // 2, x * y / z)
    tl.store(out_ptr + at, z * x / y)


def test_two_stores_to_one_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    (x,) = options(1024, torch.float64)[:1]
    out = torch.zeros(1536, dtype=torch.float64)
    both_ends[(1,)](x, out, BLOCK=1024, num_warps=1)
    y = (x.log() * 0.3).exp() / (x + 1).sqrt() + torch.erf(x) / (x + 2)
    z = (y * 0.2).exp() / (y + x) + (y + 3).log() * x + (-x).exp() / (y + x).sqrt()
    want = torch.cat([z * x / y, (x * y / z)[512:]])
    torch.testing.assert_close(out, want, rtol=1e-6, atol=1e-7)
    assert "a few of a thread" not in kernels[0].asm["plan"]


def test_what_hints_tell_of_is_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block's first element is a multiple, those of its parts are not."""
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    inputs = options(1024, torch.float64)
    results = [torch.zeros_like(inputs[0]) for _ in range(3)]
    derivatives[(2,)](*inputs, *results, 1024, BLOCK=512, HINT=True, num_warps=1)
    for result, want in zip(results, wanted(*inputs), strict=True):
        torch.testing.assert_close(result, want, rtol=1e-6, atol=1e-7)
    assert "a few of a thread" not in kernels[0].asm["plan"]
