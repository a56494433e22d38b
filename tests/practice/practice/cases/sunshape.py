"""SunShape: scores of attention with keys that are numbers of centroids, gathered or computed."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "gauravsaini/sunshape",
    "ce501044f00598d7fbb7dd1efae2e3dd8f387a9a",
    packages={"sunshape": "."},
)


def _case(name, function, kernel):
    def build(file, device, h, n, blocks, centroids, d):
        q = tm.normal(h, blocks * d, device=device)
        table = tm.normal(blocks, centroids, d, device=device)
        ids = tm.integers(0, centroids, n, blocks, device=device, dtype=torch.int32)
        codec = SimpleNamespace(centroids=table, n_blocks=blocks, block_dim=d)

        def want():
            keys = table[torch.arange(blocks, device=device), ids.long()].flatten(1)
            return q.double() @ keys.double().T

        return lambda: getattr(file, function)(codec, q, SimpleNamespace(indices=ids)), want

    repository.case("sunshape/triton_kernels.py", kernel, name=name, rtol=1e-4, atol=1e-4, small=dict(h=5, n=100, blocks=4, centroids=20, d=8), production=dict(h=32, n=131072, blocks=16, centroids=256, d=8))(build)  # fmt: skip


_case("gathered", "_triton_attention_scores", "_sunshape_precomputed_scores_kernel")
_case("computed", "_triton_attention_scores_legacy", "_sunshape_scores_kernel")
