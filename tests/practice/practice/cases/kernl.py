"""kernl: attention in one pass, in two for few queries, as products of vectors, batches of GEMMs."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ELS-RD/kernl", "91e2cd92db44d503874d39a9f6dec42c9f481a8e", packages={"kernl": "src"})  # fmt: skip
PLACE = "src/kernl/implementations/"
F16 = torch.float16
HALF = dict(rtol=1e-2, atol=1e-2)


def _inputs(b, h, m, n, d, device):
    return [tm.normal(b, h, rows, d, device=device, dtype=F16) for rows in (m, n, n)]


@repository.case(f"{PLACE}batched_matmul.py", "matmul_kernel", small=dict(b=2, m=70, n=90, k=64), production=dict(b=16, m=1024, n=1024, k=1024), rtol=2e-3, atol=2e-2)  # fmt: skip
def products(file, device, b, m, n, k):
    x, y = (tm.normal(b, *s, device=device, dtype=F16) for s in ((m, k), (k, n)))
    return lambda: file.batched_matmul(x, y), lambda: x.double() @ y.double()


# Keys after the last one count where their number is no multiple of a block.
for _causal in (False, True):

    @repository.case(f"{PLACE}attention.py", "_fwd_kernel", small=dict(b=2, h=2, n=256, d=64), production=dict(b=4, h=16, n=2048, d=64), **HALF, name="attention" + "_causal" * _causal)  # fmt: skip
    def attention(file, device, b, h, n, d, causal=_causal):
        q, k, v = _inputs(b, h, n, n, d, device)
        return (
            lambda: file.attention_forward(q, k, v, torch.empty_like(q), d**-0.5, causal),
            lambda: tm.attention(q, k, v, causal=causal)[0],
        )


@repository.case(f"{PLACE}attention_skinny.py", "_fwd_part_1, _fwd_part_2", small=dict(b=2, h=2, m=5, n=384, d=64), production=dict(b=16, h=16, m=16, n=4096, d=64), **HALF)  # fmt: skip
def few_queries(file, device, b, h, m, n, d):
    q, k, v = _inputs(b, h, m, n, d, device)
    run = file.skinny_attention_forward
    return lambda: run(q, k, v, torch.empty_like(q), d**-0.5), lambda: tm.attention(q, k, v)[0]


@repository.case(f"{PLACE}attention_vec_mat.py", "vec_mat", small=dict(b=2, h=2, n=128, d=64), production=dict(b=16, h=16, n=2048, d=64), **HALF)  # fmt: skip
def one_query(file, device, b, h, n, d):
    q, k, v = _inputs(b, h, 1, n, d, device)
    run = file.attention_vec_mat_forward
    return lambda: run(q, k, v, torch.empty_like(q), d**-0.5), lambda: tm.attention(q, k, v)[0]
