"""Chitu: keys in pages, two kinds of rope, fp8 weights without fp8 instructions."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("thu-pacman/chitu", "6261b7a06d348b865154dab5d018168bd92e75da")
FILE = "chitu/triton_kernels.py"
BF16 = torch.bfloat16
HALF = dict(rtol=2e-2, atol=2e-2)


@repository.case(FILE, "append_to_paged_kv_cache_kernel", small=dict(b=3, pages=2, d=100), production=dict(b=4096, pages=4, d=576), rtol=0, atol=0)  # fmt: skip
def keys_in_pages(file, device, b, pages, d):
    cache = tm.normal(b * pages, 64, d, device=device, dtype=BF16)
    table = torch.randperm(b * pages).view(b, pages).to(torch.int32).to(device)
    new = tm.normal(b, d, device=device, dtype=BF16)
    lens = tm.integers(0, pages * 64, b, device=device, dtype=torch.int32)

    def run():
        kept = cache.clone()
        grid = (b, -(-d // 512))
        file.append_to_paged_kv_cache_kernel[grid](kept, table, new, lens, 64, b, pages, d, 512)
        return kept

    def want():
        kept, rows = cache.double(), torch.arange(b, device=device)
        kept[table[rows, lens.long() // 64].long(), lens.long() % 64] = new.double()
        return kept

    return run, want


@repository.case(FILE, "rotary_embedding_kernel_hf_llama", small=dict(m=5, h=4, d=32), production=dict(m=8192, h=32, d=128), rtol=1e-5, atol=1e-5)  # fmt: skip
def rope_of_halves(file, device, m, h, d):
    x, angles = tm.normal(m, h, d, device=device), torch.rand(m, d // 2) * 6
    cos, sin = angles.cos().to(device), angles.sin().to(device)

    def run():
        y = torch.empty_like(x)
        strides = *x.stride()[:2], cos.stride(0), sin.stride(0), *y.stride()[:2]
        file.rotary_embedding_kernel_hf_llama[(m * h, 1)](x, cos, sin, y, h, *strides, BLOCK_SIZE=d)
        return y

    return run, lambda: tm.rotated(x, cos[:, None], sin[:, None])


@repository.case(FILE, "rotary_embedding_kernel_llama", small=dict(m=5, h=7, hk=1, d=32), production=dict(m=8192, h=128, hk=1, d=64), **HALF)  # fmt: skip
def rope_of_pairs(file, device, m, h, hk, d):
    q, k = (tm.normal(m, n, d, device=device, dtype=BF16) for n in (h, hk))
    angles = torch.rand(m, d // 2) * 6
    cos, sin = angles.cos().to(device), angles.sin().to(device)

    def run():
        a, b = torch.empty_like(q), torch.empty_like(k)
        strides = [s for x in (q, k, a, b) for s in x.stride()[:2]]
        file.rotary_embedding_kernel_llama[(m, -(-h // 4))](q, k, a, b, cos, sin, *strides, h, hk, d, 4)  # fmt: skip
        return a, b

    return run, lambda: [tm.rotated(x, cos[:, None], sin[:, None], interleaved=True) for x in (q, k)]  # fmt: skip


@repository.case(FILE, "weight_dequant_soft_fp8_deepseek_v3_kernel_step_1, weight_dequant_soft_fp8_deepseek_v3_kernel_step_2", small=dict(b=2, m=200, n=384), production=dict(b=8, m=4096, n=2048), rtol=1e-2)  # fmt: skip
def weights_of_fp8(file, device, b, m, n):
    x = tm.fp8(b, m, n, device=device)
    s = torch.rand(b, -(-m // 128), n // 128).to(device)

    def run():
        wide = torch.empty(b, m, n, dtype=torch.int32, device=device)
        y = torch.empty(b, m, n, dtype=BF16, device=device)
        first = file.weight_dequant_soft_fp8_deepseek_v3_kernel_step_1
        second = file.weight_dequant_soft_fp8_deepseek_v3_kernel_step_2
        first[(-(-x.numel() // 1024),)](x.view(torch.uint8), wide, x.numel(), 1024)
        second[(b, -(-m // 128), n // 128)](wide.view(torch.float32), s, y, m, n, 128, 2.0**120)
        return y

    return run, lambda: tm.dequantised_blocks(x, s, 128, 128)


@repository.case(FILE, "soft_fp8_gemm_deepseek_v3_kernel", small=dict(m=20, n=200, k=256), production=dict(m=512, n=7168, k=2048), **HALF)  # fmt: skip
def product_of_soft_fp8(file, device, m, n, k):
    a, b = tm.normal(m, k, device=device, dtype=BF16), tm.fp8(n, k, device=device, scale=0.3)
    s = torch.rand(-(-n // 128), k // 128).to(device)
    kernel = file.soft_fp8_gemm_deepseek_v3_kernel
    kernel.configs = [c for c in kernel.configs if (*c.kwargs.values(), c.num_warps, c.num_stages) == (64, 128, 128, 32, 8, 4)]  # fmt: skip

    def run():
        y = torch.empty(m, n, dtype=BF16, device=device)
        kernel[lambda meta: (-(-m // meta["BLOCK_SIZE_M"]) * -(-n // meta["BLOCK_SIZE_N"]),)](a, b.view(torch.uint8), y, s, m, n, k, 128, 128)  # fmt: skip
        return y

    return run, lambda: a.double() @ tm.dequantised_blocks(b, s, 128, 128).T
