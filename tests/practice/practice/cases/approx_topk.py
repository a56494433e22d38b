"""Approximate top-k: the largest element of each of k buckets of a row, where buckets are parts of
the row or take every k-th element."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("graphcore-research/pytorch-approx-topk", "c09e8c2f4c6be521676e8c994f582abe4426da81", packages={"approx_topk": "."})  # fmt: skip
FILE = "approx_topk/experimental/bucketed_argmax.py"


def _case(kernel, interleaved, block, small, production):
    kind = "interleaved" if interleaved else "parts"
    name = f"{'rows_of_buckets' if kernel == 'bk' else 'tiles_of_buckets'}_{kind}"

    @repository.case(FILE, f"_topk_triton_kernel__parallel_{kernel}", small=small, production=production, rtol=0, atol=0, name=name)  # fmt: skip
    def largest(file, device, b, n, k):
        x = tm.normal(b, n, device=device)

        def want():
            padded = F.pad(x, (0, -n % k), value=float("-inf"))
            if interleaved:
                values, at = padded.unflatten(1, (-1, k)).max(1)
                return values, at * k + torch.arange(k, device=device)
            values, at = padded.unflatten(1, (k, -1)).max(2)
            return values, at + torch.arange(k, device=device) * (padded.shape[1] // k)

        return (
            lambda: file.topk_triton(x, k, -1, interleaved, block_size=block, kernel=kernel),
            want,
        )


for _interleaved in (False, True):
    _case("bk", _interleaved, 64, dict(b=5, n=300, k=16), dict(b=1024, n=65536, k=256))
    _case("bkn", _interleaved, 16, dict(b=5, n=310, k=16), dict(b=1024, n=65536, k=512))
