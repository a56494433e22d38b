"""The product of FlashInfer's competition: a matrix and one that is stored by columns."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("pranay5255/flashInfer-DeepseekSparseAttention", "ae518231492d6befb492308827a05c970f4cf497")  # fmt: skip


@repository.case("solution/triton/kernel.py", "matmul_kernel", small=dict(m=70, n=100, k=90), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def product(file, device, m, n, k):
    a, b = (
        tm.normal(rows, k, device=device, dtype=torch.float16, scale=k**-0.25) for rows in (m, n)
    )
    return lambda: file.run(a, b), lambda: a.double() @ b.double().T
