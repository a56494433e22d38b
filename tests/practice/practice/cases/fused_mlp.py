"""triton-fused-mlp: two products, where blocks of the first one are added to the second's result."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("cmullovisl/triton-fused-mlp", "1db396558604ab73695fdca617ea6d0aa94409b1")


@repository.case("triton-b2b-matmul.py", "matmul_kernel", small=dict(m=128, n=256, k=128), production=dict(m=256, n=4096, k=1024), rtol=1e-2, atol=3e-2)  # fmt: skip
def two_products(file, device, m, n, k):
    a, b, c = (tm.normal(*s, device=device, scale=s[0] ** -0.5) for s in ((m, k), (k, n), (n, k)))
    return lambda: file.matmul(a, b, c), lambda: a.double() @ b.double() @ c.double()
