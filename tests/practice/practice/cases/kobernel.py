"""kobernel: results of experts, added up for their tokens by atomics."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Ruihan11/kobernel", "3056f9f91df9504825f308eddd0ce7f43ffbad85")


@repository.case("solution/triton/kernel00.py", "_scatter_add_weighted", small=dict(tokens=10, n=40, d=200), production=dict(tokens=2048, n=16384, d=7168), rtol=1e-4, atol=1e-4)  # fmt: skip
def sums_for_tokens(file, device, tokens, n, d):
    rows, weight = tm.normal(n, d, device=device), torch.rand(n).to(device)
    token = tm.integers(0, tokens, n, device=device)

    def run():
        out = torch.zeros(tokens, d, device=device)
        file._scatter_add_weighted[(n, -(-d // 128))](
            rows, weight, token, out, n, d, *rows.stride(), *out.stride(), BLOCK_H=128
        )
        return out

    def want():
        out = torch.zeros(tokens, d, dtype=torch.float64, device=device)
        return out.index_add(0, token, rows.double() * weight.double()[:, None])

    return run, want
