"""DetKernels: sums in parts that atomics put together, the cause of results that change from run to
run, in a product and in the attention of one query."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("AdityaShome/DetKernels", "ed56a920666724dc552cef64b2fe9aa83c74f548")
HALF = torch.float16


@repository.case("kernels/matmul.py", "_matmul_splitk_partial_kernel", small=dict(m=20, n=70, k=200), production=dict(m=32, n=8192, k=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def product_in_parts(file, device, m, n, k):
    a, b = (tm.normal(*shape, device=device, dtype=HALF) for shape in ((m, k), (k, n)))
    return (
        lambda: file.matmul_batch_variant(a, b, split_k=4),
        lambda: a.double() @ b.double(),
    )


@repository.case("kernels/attention.py", "_attn_split_max_kernel, _attn_split_sumacc_kernel", small=dict(b=2, heads=3, keys=300, d=40), production=dict(b=1, heads=16, keys=16384, d=128), rtol=1e-2, atol=1e-3)  # fmt: skip
def attention_in_parts(file, device, b, heads, keys, d):
    q = tm.normal(b, heads, d, device=device, dtype=HALF)
    k, v = (tm.normal(b, heads, keys, d, device=device, dtype=HALF) for _ in range(2))
    return (
        lambda: file.attention_batch_variant(q, k, v, split_s=4),
        lambda: tm.attention(q[:, :, None], k, v)[0][:, :, 0],
    )


@repository.case("kernels/attention.py", "_attn_direct_kernel", small=dict(b=2, heads=3, keys=300, d=40), production=dict(b=8, heads=32, keys=4096, d=128), rtol=1e-2, atol=1e-3)  # fmt: skip
def attention(file, device, b, heads, keys, d):
    q = tm.normal(b, heads, d, device=device, dtype=HALF)
    k, v = (tm.normal(b, heads, keys, d, device=device, dtype=HALF) for _ in range(2))
    return (
        lambda: file.attention_batch_invariant(q, k, v),
        lambda: tm.attention(q[:, :, None], k, v)[0][:, :, 0],
    )
