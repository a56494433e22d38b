"""triton_kernels_for_fun_and_profit: an RMS norm that reads by block pointers."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("lessw2020/triton_kernels_for_fun_and_profit", "78b1b3ccb5bec3670fe48139d400836abc7a5468")  # fmt: skip


@repository.case("kernels/rms_norm.py", "_fwd_rms_kernel", small=dict(m=5, n=300), production=dict(m=4096, n=8192), rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm(file, device, m, n):
    x, w = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return lambda: file.triton_rmsnorm(x, w), lambda: tm.rms_norm(x, w, 1e-8)
