"""triton_qwen3_0_6b: a cache of keys that grows, heads that are repeated, products, and the largest
logit."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("skywhale4/triton_qwen3_0_6b", "3d15c444bf6098a5155a5b6e0fdc646ca1dee13a")
BF16 = torch.bfloat16


@repository.case("kernels/cache.py", "_kv_concat_kernel", small=dict(b=2, h=2, old=45, new=7, d=80), production=dict(b=4, h=8, old=8192, new=512, d=128))  # fmt: skip
def grown_cache(file, device, b, h, old, new, d):
    parts = [tm.normal(b, h, n, d, device=device, dtype=BF16) for n in (old, new)]
    return lambda: file.triton_kv_concat(*parts), lambda: torch.cat(parts, 2)


@repository.case("kernels/repeat.py", "_repeat_heads_kernel", small=dict(b=2, h=2, n=45, d=80, each=3), production=dict(b=4, h=8, n=8192, d=128, each=2))  # fmt: skip
def repeated_heads(file, device, b, h, n, d, each):
    x = tm.normal(b, h, n, d, device=device, dtype=BF16)
    return lambda: file.triton_repeat_kv_heads(x, each), lambda: x.repeat_interleave(each, 1)


@repository.case("kernels/matmul.py", "matmul_kernel", small=dict(m=40, n=72, k=100), production=dict(m=4096, n=3072, k=1024), rtol=1e-2, atol=2e-2)  # fmt: skip
def product(file, device, m, n, k):
    a = tm.normal(m, k, device=device, dtype=BF16) / k**0.5
    b = tm.normal(n, k, device=device, dtype=BF16).T
    return lambda: file.triton_matmul(a, b), lambda: a.double() @ b.double()


@repository.case("kernels/reduction.py", "_argmax_blocks_kernel", small=dict(n=5000), production=dict(n=1 << 24))  # fmt: skip
def largest_of_blocks(file, device, n):
    x = tm.normal(n, device=device)
    blocks = -(-n // 1024)

    def run():
        ids = torch.empty(blocks, dtype=torch.int64, device=device)
        values = torch.empty(blocks, device=device)
        file._argmax_blocks_kernel[(blocks,)](x, ids, values, n, BLOCK_SIZE=1024)
        return values, x[ids]

    def want():
        padded = torch.nn.functional.pad(x, (0, -n % 1024), value=float("-inf"))
        values = padded.view(blocks, 1024).amax(1)
        return values, values

    return run, want
