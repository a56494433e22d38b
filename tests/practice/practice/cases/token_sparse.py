"""Token Sparse Attention: how much the last queries see of each key before them."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "dongwonjo/Token-Sparse-Attention",
    "17b64cbb573fb7c82bd1836d32fade8d17ae1e54",
)


@repository.case("sparse_attn/token_sparse/kernel.py", "_stats_m_l_kernel, _prefix_meanprob_kernel", rtol=1e-2, atol=1e-4, small=dict(b=1, h=2, n=200, d=64, window=32), production=dict(b=1, h=32, n=32768, d=128, window=64))  # fmt: skip
def seen_by_the_last(file, device, b, h, n, d, window):
    q, k = (tm.normal(b, h, n, d, device=device, dtype=torch.bfloat16) for _ in range(2))

    def want():
        scores = q[:, :, -window:].double() @ k.double().transpose(-1, -2) * d**-0.5
        rows = torch.arange(n - window, n, device=device)[:, None]
        scores = scores.masked_fill(torch.arange(n, device=device) > rows, -torch.inf)
        return scores.softmax(-1)[..., : n - window].mean(2)

    return lambda: file.triton_get_attn_cache(q, k, window), want
