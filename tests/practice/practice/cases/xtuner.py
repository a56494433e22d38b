"""XTuner: blocks and tiles to fp8, turned with padded groups, and grouped products by descriptors."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("InternLM/xtuner", "b934f462095c1e750229de35367c50ae36caa786", packages={"xtuner": "."}, stand_ins={"xtuner.v1.utils": {}})  # fmt: skip
BF16, FP8 = torch.bfloat16, torch.float8_e4m3fn
QUANT, GEMM = "xtuner/v1/float8/triton_kernels", "xtuner/v1/ops/moe/cuda/triton_kernels"
ROUNDED = dict(rtol=7e-2, atol=2e-2)
GROUPS = [70, 0, 130, 56]


def _quantised(x, block):
    """A tensor in fp8 and the scales of its blocks, and what they stand for."""
    m, n = x.shape
    padded = torch.nn.functional.pad(x.double(), (0, -n % block[1], 0, -m % block[0]))
    parts = padded.unflatten(0, (-1, block[0])).unflatten(2, (-1, block[1]))
    return parts.abs().amax((1, 3)).clamp(min=1e-12) / 448


@repository.case(f"{QUANT}/per_block_quant_gemm.py", "per_block_quant_gemm_kernel", small=dict(m=200, n=300), production=dict(m=8192, n=5120), **ROUNDED)  # fmt: skip
def blocks(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        y, scales = torch.ops.float8.per_block_quant_gemm(x)
        return scales, y.float() * scales.repeat_interleave(128, 0)[:m].repeat_interleave(128, 1)[:, :n]  # fmt: skip

    return run, lambda: (_quantised(x, (128, 128)), x)


@repository.case(f"{QUANT}/per_tile_quant.py", "per_tile_quant_kernel", small=dict(m=200, n=384), production=dict(m=32768, n=5120), **ROUNDED)  # fmt: skip
def tiles(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        y, scales = torch.ops.float8.per_tile_quant(x)
        return scales, y.float() * scales.repeat_interleave(128, 1)

    return run, lambda: (_quantised(x, (1, 128)), x)


@repository.case(f"{QUANT}/per_block_dequant_gemm.py", "per_block_dequant_gemm_kernel", small=dict(m=200, n=300), production=dict(m=8192, n=5120))  # fmt: skip
def restored(file, device, m, n):
    x, scales = tm.fp8(m, n, device=device), torch.rand(-(-m // 128), -(-n // 128)).to(device)
    return (
        lambda: file.per_block_dequant_gemm(x, scales),
        lambda: x.double() * scales.double().repeat_interleave(128, 0)[:m].repeat_interleave(128, 1)[:, :n],
    )  # fmt: skip


def _turned(x, sizes, rows):
    """Groups of rows, each padded to 128 of them, turned: with their scales."""
    groups = [torch.nn.functional.pad(g, (0, 0, 0, -len(g) % 128)) for g in x.split(sizes)]
    whole = torch.cat(groups).T
    return _quantised(whole, (rows, 128)), whole


@repository.case(f"{QUANT}/trans_quant_per_tile.py", "trans_per_tile_quant_expand_128x_kernel", small=dict(n=100, times=1), production=dict(n=5120, times=64), **ROUNDED)  # fmt: skip
def turned_tiles(file, device, n, times):
    sizes = [size * times for size in GROUPS]
    x = tm.normal(sum(sizes), n, device=device, dtype=BF16)

    def run():
        y, scales, padded = torch.ops.float8.trans_per_tile_quant_expand_128x(x, torch.tensor(sizes).to(device))  # fmt: skip
        used = int(padded.sum())
        scales = scales[:, : used // 128]
        return scales, y[:, :used].float() * scales.repeat_interleave(128, 1), padded

    def want():
        scales, whole = _turned(x, sizes, 1)
        return scales, whole, torch.tensor([size + -size % 128 for size in sizes])

    return run, want


@repository.case(f"{QUANT}/trans_quant_per_block.py", "trans_per_block_quant_expand_128x_kernel", small=dict(n=256, times=1), production=dict(n=5120, times=64), **ROUNDED)  # fmt: skip
def turned_blocks(file, device, n, times):
    sizes = [size * times for size in GROUPS]
    x = tm.normal(sum(sizes), n, device=device, dtype=BF16)

    def run():
        y, scales, padded = file.trans_per_block_quant_expand_128x(x, torch.tensor(sizes).to(device))  # fmt: skip
        used = int(padded.sum())
        scales = scales[:, : used // 128]
        return scales, y[:, :used].float() * scales.repeat_interleave(128, 0).repeat_interleave(128, 1)  # fmt: skip

    return run, lambda: _turned(x, sizes, 128)


HALF = dict(rtol=2e-2, atol=1e-1)

for _name, _turn in (("columns", True), ("rows", False)):

    @repository.case(f"{GEMM}/m_grouped_gemm_TMA_triton3_4.py", f"m_grouped_gemm_b{'K' if _turn else 'N'}major_kernel, repeat_interleave_kernel, grouped_launch", small=dict(n=96, k=72, times=1), production=dict(n=1536, k=2048, times=64), name=f"products_of_groups_{_name}", **HALF)  # fmt: skip
    def products(file, device, n, k, times, turn=_turn):
        sizes = [size * times for size in GROUPS]
        a = tm.normal(sum(sizes), k, device=device, dtype=BF16)
        b = tm.normal(len(sizes), *((n, k) if turn else (k, n)), device=device, dtype=BF16)

        def want():
            wide = b.double().mT if turn else b.double()
            return torch.cat([x @ w for x, w in zip(a.double().split(sizes), wide, strict=True)])

        return lambda: torch.ops.moe.m_grouped_gemm(a, b, torch.tensor(sizes).to(device), turn), want  # fmt: skip


@repository.case(f"{GEMM}/k_grouped_gemm_TMA_triton3_4.py", "k_grouped_gemm_kernel", small=dict(m=72, n=96, times=1), production=dict(m=1536, n=2048, times=64), **HALF)  # fmt: skip
def products_along_groups(file, device, m, n, times):
    sizes = [size * times for size in GROUPS]
    a, b = (tm.normal(sum(sizes), size, device=device, dtype=BF16) for size in (m, n))
    return (
        lambda: torch.ops.moe.k_grouped_gemm(a, b, torch.tensor(sizes).to(device)),
        lambda: torch.stack([x.T @ y for x, y in zip(a.double().split(sizes), b.double().split(sizes), strict=True)]),
    )  # fmt: skip
