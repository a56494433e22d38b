"""triton-kernels by davidgonmar: products with parts of K summed by atomics, and in groups."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("davidgonmar/triton-kernels", "e4c92520e825543cd97afc0b12cfd96562747655")


@repository.case("matmuls/matmul_splitk.py", "matmul_split_k_kernel", rtol=1e-3, atol=1e-3, small=dict(m=70, n=90, k=300), production=dict(m=512, n=1024, k=8192))  # fmt: skip
def parts_of_k(file, device, m, n, k):
    x, y = tm.normal(m, k, device=device), tm.normal(k, n, device=device)

    def run():
        file.matmul(x, y)  # tunes, and sums all tries in its result
        return file.matmul(x, y)

    return run, lambda: x.double() @ y.double()


@repository.case("matmuls/matmul_grouped.py", "matmul_kernel_grouped", rtol=1e-2, atol=5e-2, small=dict(m=70, n=90, k=300), production=dict(m=4096, n=4096, k=4096))  # fmt: skip
def in_groups(file, device, m, n, k):
    x, y = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, k), (k, n)))
    return lambda: file.matmul(x, y), lambda: x.double() @ y.double()
