"""triton-playground of triloy8: the sum of a row's elements by weights, with block pointers."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("triloy8/triton-playground", "580798dac27e66a9ff5c52cbcfe51084f9740f23")


@repository.case("weighted_sum/weight_sum_tl.py", "weighted_sum_fwd, weighted_sum_backward", small=dict(m=70, d=100), production=dict(m=16384, d=4096), rtol=1e-4, atol=1e-3)  # fmt: skip
def weighted_sum(file, device, m, d):
    x, weight, up = (tm.normal(*shape, device=device) for shape in ((m, d), (d,), (m,)))

    def run():
        rows, columns = 16, 64
        out, dx, tiles = torch.empty(m, device=device), torch.empty_like(x), -(-m // rows)
        parts = torch.empty(tiles, d, device=device)
        file.weighted_sum_fwd[(tiles,)](x, weight, out, *x.stride(), 1, 1, m, d, rows, columns)
        file.weighted_sum_backward[(tiles,)](x, weight, up, dx, parts, *x.stride(), 1, 1, *dx.stride(), *parts.stride(), m, d, rows, columns)  # fmt: skip
        return out, dx, parts.sum(0)

    return run, lambda: tm.with_gradients(torch.mv, up.double(), x, weight, exact=True)
