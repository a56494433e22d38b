"""Vectors of gates beside tiles: lanes that have copies share their functions, and results are the
same. PTX run by ptx_machine.py."""

from __future__ import annotations

import re

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
def decayed_states(
    k_ptr, v_ptr, forget_ptr, gate_ptr, out_ptr, sums_ptr, length,
    D: tl.constexpr, E: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    d, e, t = tl.arange(0, D), tl.arange(0, E), tl.arange(0, CHUNK)
    state = tl.zeros((D, E), tl.float32)
    for start in range(0, length, CHUNK):
        inside = start + t < length
        forget = tl.load(forget_ptr + start + t, inside, 0.0)
        gate = tl.load(gate_ptr + start + t, inside, 0.0)
        decay = tl.where(inside, tl.log(1.0 / (1.0 + tl.exp(-forget))), 0.0)
        total = tl.sum(decay)
        weight = tl.exp(total - tl.cumsum(decay)) / (1.0 + tl.exp(-gate))
        k = tl.load(k_ptr + (start + t)[None, :] * D + d[:, None], inside[None, :], 0.0)
        v = tl.load(v_ptr + (start + t)[:, None] * E + e[None, :], inside[:, None], 0.0)
        state = state * tl.exp(total) + tl.dot(k * weight[None, :], v)
        tl.store(sums_ptr + start // CHUNK, total)
    tl.store(out_ptr + d[:, None] * E + e[None, :], state)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("length", [128, 100])
@pytest.mark.parametrize(("warps", "stages"), [(4, 1), (2, 3)])
def test_lanes_share_gates(
    arch: str, length: int, warps: int, stages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(3)
    kernels = machine_backend.record(monkeypatch, arch)
    chunk, size = 64, 32
    k, v = torch.randn(length, size), torch.randn(length, size)
    forget, gate = torch.randn(length), torch.randn(length)
    out, sums = torch.zeros(size, size), torch.zeros(2)
    decayed_states[(1,)](
        k, v, forget, gate, out, sums, length,
        D=size, E=size, CHUNK=chunk, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    state = torch.zeros(size, size, dtype=torch.float64)
    want = []
    for start in range(0, length, chunk):
        part = slice(start, min(start + chunk, length))
        decay = torch.nn.functional.logsigmoid(forget[part].double())
        want.append(decay.sum())
        weight = (want[-1] - decay.cumsum(0)).exp() * gate[part].double().sigmoid()
        state = state * want[-1].exp() + (k[part].double() * weight[:, None]).T @ v[part].double()
    # tf32: 2^-11 of each product, of some tens of them.
    assert torch.allclose(out.double(), state, rtol=5e-3, atol=5e-2)
    assert torch.allclose(sums.double(), torch.stack(want), rtol=1e-5, atol=1e-5)
    ptx = kernels[0].asm["ptx"]
    assert len(re.findall(r"\blg2\.approx", ptx)) < 16
