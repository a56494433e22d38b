"""DIY flash attention: a product, one with a fixed number of programs, and attention."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("AICL-Lab/diy-flash-attention", "e938eb0ef0b0ddbcdd510ff1a08714d565942fd8", packages={"utils": "."})  # fmt: skip


def _factors(device, m, n, k, dtype):
    a = tm.normal(m, k, device=device, dtype=dtype)
    return a, tm.normal(k, n, device=device, dtype=dtype, scale=k**-0.5)


@repository.case("kernels/matmul.py", "_matmul_kernel_autotuned, _matmul_body", small=dict(m=70, n=90, k=100), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def product_bf16(file, device, m, n, k):
    a, b = _factors(device, m, n, k, torch.bfloat16)
    return lambda: file.triton_matmul(a, b), lambda: a.double() @ b.double()


@repository.case("kernels/matmul.py", "_matmul_kernel_manual, _matmul_body", small=dict(m=70, n=90, k=100), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def product_of_chosen_blocks(file, device, m, n, k):
    a, b = _factors(device, m, n, k, torch.float16)
    return lambda: file.triton_matmul(a, b, 64, 64, 32), lambda: a.double() @ b.double()


@repository.case("kernels/persistent_kernels.py", "_persistent_matmul_kernel", small=dict(m=70, n=90, k=100), production=dict(m=4096, n=4096, k=2048), rtol=1e-2, atol=1e-2)  # fmt: skip
def product_of_lasting_programs(file, device, m, n, k):
    a, b = _factors(device, m, n, k, torch.float16)

    def run():
        c = a.new_empty(m, n)
        grid = (min(-(-m // 64) * -(-n // 64), 256),)
        file._persistent_matmul_kernel[grid](a, b, c, m, k, n, *a.stride(), *b.stride(), *c.stride(), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)  # fmt: skip
        return c

    return run, lambda: a.double() @ b.double()
