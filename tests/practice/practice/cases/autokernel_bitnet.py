"""AutoKernelBitnet: a product, in tiles of 64 by 64."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("varun29-git/AutoKernelBitnet", "192c24eee122ac446c63f8d0f33282894080399e")


@repository.case("kernel.py", "matmul_kernel", small=dict(m=70, n=100, k=90), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def product(file, device, m, n, k):
    a, b = (
        tm.normal(*shape, device=device, dtype=torch.bfloat16, scale=k**-0.25)
        for shape in ((m, k), (k, n))
    )
    return lambda: file.kernel_fn(a, b), lambda: a.double() @ b.double()
