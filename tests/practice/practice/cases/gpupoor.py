"""gpupoor: products with sums in float16, of parts of the inner axis."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("sekstini/gpupoor", "ee9f8caf7216f28508dcd63c1a6c33ac036b8f77")


@repository.case("gpu_poor/kernels/split_k_sequential.py", "_matmul_kernel", small=dict(m=140, n=200, k=256), production=dict(m=4096, n=4096, k=4096), rtol=2e-2, atol=2e-2)  # fmt: skip
def product_half(file, device, m, n, k):
    a, b = (tm.normal(*shape, device=device, dtype=torch.float16, scale=k**-0.25) for shape in ((m, k), (k, n)))  # fmt: skip
    return lambda: file.split_k_sequential(a, b), lambda: a.double() @ b.double()
