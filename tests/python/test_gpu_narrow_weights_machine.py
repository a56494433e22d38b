"""Dots by mma.sync of 16-bit floats and narrower weights that are converted on their way, run by
ptx_matrix_machine.py: eight neighbours along K lie in one thread, in whichever role it takes them.
"""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import ptx_matrix_machine
import pytest
from machine_backend import MachineBackend, storage_of, use

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
HALF, BF16, FP8 = torch.float16, torch.bfloat16, torch.float8_e4m3fn
BOTH_ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
IN_EIGHTS, TURNED = "tlg.depth_in_eights", "turned"


@pytest.fixture
def kernels(arch: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Launches on CPU tensors go to the machine; the kernels that ran."""
    torch.manual_seed(11)
    made: list[Any] = []

    def run(kernel: Any, grid: Any, values: list[Any]) -> None:
        kernel = gpu_rows.as_launched(kernel, values)
        machine = ptx_matrix_machine.Machine(kernel.asm["ptx"], kernel.metadata.num_warps)
        machine.run(grid, [storage_of(value) for value in values], kernel.metadata.shared)
        made.append(kernel)

    use(monkeypatch, MachineBackend(arch, run))
    return made


@triton.jit
def product(
    x_ptr, w_ptr, scale_ptr, c_ptr, M, N, K, stride_x, stride_xk, stride_w, stride_c,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BITS: tl.constexpr, FIRST: tl.constexpr,
):  # fmt: skip
    """c[m, n] = sum of x[m, k] * w[n, k], scaled by n; w: bytes, or words of values of BITS bits.
    FIRST: of the transposed product, whose first operand are the weights."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BN, BM) if FIRST else (BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x_at = x_ptr + m[:, None] * stride_x + k[None, :] * stride_xk
        x = tl.load(x_at, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        if BITS == 8:
            w_at = w_ptr + n[None, :] * stride_w + k[:, None]
            w = tl.load(w_at, mask=(n[None, :] < N) & (k[:, None] < K), other=0)
        else:
            PER_WORD: tl.constexpr = 32 // BITS
            w_at = w_ptr + n[None, :] * stride_w + k[:, None] // PER_WORD
            words = tl.load(w_at, mask=(n[None, :] < N) & (k[:, None] < K), other=0)
            w = ((words >> (k[:, None] % PER_WORD * BITS)) & ((1 << BITS) - 1)) - (1 << (BITS - 1))
            w = tl.where(k[:, None] < K, w, 0)
        w = w.to(x.dtype)
        if FIRST:
            sums += tl.dot(tl.trans(w), tl.trans(x))
        else:
            sums += tl.dot(x, w)
    scale = tl.load(scale_ptr + n, mask=n < N, other=0.0)
    if FIRST:
        sums *= scale[:, None]
        c_at = c_ptr + m[None, :] * stride_c + n[:, None]
        tl.store(c_at, sums, mask=(m[None, :] < M) & (n[:, None] < N))
    else:
        sums *= scale[None, :]
        c_at = c_ptr + m[:, None] * stride_c + n[None, :]
        tl.store(c_at, sums, mask=(m[:, None] < M) & (n[None, :] < N))


def run(
    sizes: tuple[int, int, int], block: tuple[int, int, int], dtype: Any, weights: Any, *,
    bits: int = 8, first: bool = False, warps: int = 4, stages: int = 3, across: bool = False,
) -> None:  # fmt: skip
    m, n, k = sizes
    x = torch.randn(m, max(k, 32)).to(dtype)[:, :k]
    x = x.T.contiguous().T if across else x
    scale, c = torch.rand(n), torch.full((m, n), 7.0)
    if bits == 8:
        w = torch.randint(-128, 128, (n, max(k, 32))).to(torch.int8)
        w = w if weights == torch.int8 else torch.randn(n, max(k, 32)).to(weights)
        values = w[:, :k].double()
    else:
        w = torch.randint(-(2**31), 2**31, (n, k * bits // 32)).to(torch.int32)
        shifts = torch.arange(0, 32, bits)
        values = ((w[:, :, None].long() >> shifts) & (2**bits - 1)) - 2 ** (bits - 1)
        values = values.reshape(n, -1)[:, :k].double()
    bm, bn, bk = block
    grid = (triton.cdiv(m, bm), triton.cdiv(n, bn))
    product[grid](
        x, w, scale, c, m, n, k, *x.stride(), w.stride(0), n, bm, bn, bk, bits, first,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    want = x.double() @ values.T * scale.double()
    assert torch.allclose(c.double(), want, rtol=1e-5, atol=1e-4 * (1 + want.abs().max()))


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("k", [0, 64, 192])
@pytest.mark.parametrize("dtype", [HALF, BF16])
def test_bytes(dtype: Any, k: int, stages: int, arch: str, kernels: Any) -> None:
    run((16, 64, k), (16, 64, 64), dtype, torch.int8, stages=stages)
    assert IN_EIGHTS in kernels[0].asm["ttgir"]


@BOTH_ARCHS
@pytest.mark.parametrize("block", [(16, 32, 32), (32, 64, 64), (16, 128, 128), (32, 16, 32)])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_blocks(block: Any, warps: int, arch: str, kernels: Any) -> None:
    """Also where warps have copies of what others compute."""
    m, n, k = block
    run((m, n, 2 * k), block, BF16, torch.int8, warps=warps)


@BOTH_ARCHS
@pytest.mark.parametrize("sizes", [(5, 40, 80), (20, 72, 144), (33, 100, 48)])
@pytest.mark.parametrize("first", [False, True])
def test_partial_tiles(first: bool, sizes: Any, arch: str, kernels: Any) -> None:
    run(sizes, (16, 64, 64), HALF, torch.int8, first=first)


@BOTH_ARCHS
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("k", [64, 320])
def test_either_operand(k: int, first: bool, arch: str, kernels: Any) -> None:
    """The weights are the rows of the instruction, where the dot has them as columns, too."""
    run((16, 32, k), (16, 32, 64), BF16, torch.int8, first=first, warps=2)
    text = kernels[0].asm["ttgir"]
    assert IN_EIGHTS in text and (TURNED in text) == (not first)


@pytest.mark.parametrize("arch", ["sm_80"])
def test_warps_share_what_is_made(arch: str, kernels: Any) -> None:
    """Weights that several warps multiply are made once, and come by ldmatrix as 16-bit floats."""
    run((128, 128, 128), (128, 128, 64), BF16, torch.int8, warps=8)
    assert IN_EIGHTS not in kernels[0].asm["ttgir"]
    assert "ldmatrix.sync.aligned.m8n8.x4.shared" in kernels[0].asm["ptx"]


@BOTH_ARCHS
@pytest.mark.parametrize("k", [64, 192])
def test_activations_that_lie_across(k: int, arch: str, kernels: Any) -> None:
    """Eight neighbours of K of what lies along M would come one by one."""
    run((32, 64, k), (32, 64, 64), HALF, torch.int8, across=True)
    assert "ldmatrix.sync.aligned.m8n8.x4.trans" in kernels[0].asm["ptx"]


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("k", [64, 192])
def test_fp8(k: int, arch: str, kernels: Any) -> None:
    run((16, 64, k), (16, 64, 64), HALF, FP8)
    assert IN_EIGHTS in kernels[0].asm["ttgir"]


@BOTH_ARCHS
@pytest.mark.parametrize("bits", [2, 4])
@pytest.mark.parametrize("sizes", [(16, 64, 128), (5, 72, 320)])
def test_parts_of_words(sizes: Any, bits: int, arch: str, kernels: Any) -> None:
    """A word has the weights of eight neighbours, or of sixteen: a thread loads it once."""
    run(sizes, (16, 64, 128), HALF, torch.int32, bits=bits)
    assert IN_EIGHTS in kernels[0].asm["ttgir"]
