"""gpu_kernels: a product with weights of 4 bits, and attention over pages, token by token."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("vedantroy/gpu_kernels", "cfdf708b27a98b515a2f9279aa618b22605bb975", folders=("awq",), stand_ins={"einops": {}})  # fmt: skip
HALF = torch.float16


@repository.case("awq/gemm_kernel_v1.py", "quant_matmul_kernel", small=dict(m=40, n=256, k=1024), production=dict(m=2048, n=4096, k=4096), rtol=1e-2, atol=3e-2)  # fmt: skip
def product_int4(file, device, m, n, k):
    codes = tm.integers(0, 16, k, n, device=device)
    zeros = tm.integers(0, 16, k // 128, n, device=device)
    scales = (torch.rand(k // 128, n) / 8).to(HALF).to(device)
    x = tm.normal(m, k, device=device, dtype=HALF) / k**0.5
    packed = [tm.packed_int4(y, axis=0) for y in (codes, zeros)]

    def want():
        z, s = (y.repeat_interleave(128, 0) for y in (zeros, scales.double()))
        return x.double() @ ((codes - z) * s)

    return lambda: file.quant_matmul(x, *packed, scales, M=m, N=n, K=k, pack_num=8, group_size=128), want  # fmt: skip


@repository.case("paged_attention_triton/attention_kernel.py", "paged_attention", small=dict(h=2, d=4, most=8, block=2), production=dict(h=8, d=64, most=256, block=16), rtol=1e-4, atol=1e-4)  # fmt: skip
def paged_attention(file, device, h, d, most, block):
    """A query's row is taken to be as long as there are sequences: there are so many. The scores
    are not scaled. What is stored for debugging is not looked at."""
    n, each = h * d, most // block
    query = tm.normal(n, h, d, device=device)
    cache = [tm.normal(n * each, h, d, block, device=device) for _ in range(2)]
    tables = torch.randperm(n * each).view(n, each).to(torch.int32).to(device)
    lengths = tm.integers(1, most + 1, n, device=device)
    debug = [torch.empty(most * n, device=device) for _ in range(10)]
    debug[3] = torch.empty(1, dtype=torch.int32, device=device)
    scratch = [torch.zeros(n, most, h, d, device=device) for _ in range(2)]

    def run():
        out = torch.empty_like(query)
        file.paged_attention[(n, h)](*debug, *scratch, out, query, *cache, tables, lengths, 1.0, n, h, cache[0].stride(0), MAX_CONTEXT_LEN=most, BLOCK_SIZE=block, HEAD_SIZE=d, MAX_NUM_BLOCKS_PER_SEQ=each)  # fmt: skip
        return out

    def want():
        hidden = torch.arange(most, device=device) >= lengths[:, None, None, None]
        k, v = (x[tables.long()].movedim(-1, 2).flatten(1, 2).transpose(1, 2) for x in cache)
        bias = torch.zeros_like(hidden, dtype=torch.float64).masked_fill(hidden, float("-inf"))
        return tm.attention(query[:, :, None], k, v, scale=1.0, bias=bias)[0][:, :, 0]

    return run, want
