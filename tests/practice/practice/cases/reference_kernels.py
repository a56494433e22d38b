"""reference-kernels: submissions to gpu-mode's problems: Cholesky, eigenvectors, a sum."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("gpu-mode/reference-kernels", "f83cb92a534cc67fa98d7e9813e7f8238abdb4e0", stand_ins={"task": {}})  # fmt: skip


@repository.case("problems/linalg/cholesky_py/submissions/triton_cholesky32.py", "_cholesky32_left_kernel", small=dict(b=3), production=dict(b=8192), rtol=1e-3, atol=1e-3)  # fmt: skip
def cholesky(file, device, b):
    x = tm.normal(b, 32, 32, device=device)
    x = x @ x.mT + 4 * torch.eye(32, device=device)
    return lambda: file.custom_kernel(x), lambda: torch.linalg.cholesky(x.double())


@repository.case("problems/linalg/eigh_py/submissions/triton_diagonal_fast_path.py", "_write_permuted_eye_kernel", small=dict(b=3, n=20), production=dict(b=640, n=512))  # fmt: skip
def eigenvectors(file, device, b, n):
    x = torch.stack([torch.randperm(n) + 1.0 for _ in range(b)]).to(device)

    def want():
        order = x.argsort(-1)
        return (order[:, None] == torch.arange(n, device=device)[:, None]).float(), x.sort().values

    return lambda: file.custom_kernel(torch.diag_embed(x)), want


@repository.case("problems/pmpp_v2/vectorsum_py/submission.py", "sum_kernel", small=dict(n=5000), production=dict(n=1 << 26), rtol=1e-3, atol=1e-1)  # fmt: skip
def total(file, device, n):
    x = tm.normal(n, device=device) + 1
    return lambda: file._custom_kernel((x, x.new_zeros(1))), lambda: x.double().sum()
