"""tf32_gemm: a product of float32 matrices with tf32."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("bertmaher/tf32_gemm", "2b28f79a5a89589f15306d82af6104559499e17c")


@repository.case("triton_kernel.py", "matmul_kernel", small=dict(m=90, n=70, k=100), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=3e-1)  # fmt: skip
def product(file, device, m, n, k):
    a, b = tm.normal(m, k, device=device), tm.normal(k, n, device=device)
    return lambda: file.matmul(a, b), lambda: a.double() @ b.double()
