"""Triton regressors: the products of ridge regression, and logistic predictions."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("gmartini2019/triton_regressors", "b5d69a0da2ecddacbf68ebfbd5cf51f67e96342a")  # fmt: skip
FOLDER = "triton_regressors/"


@repository.case(FOLDER + "ridge/kernels.py", "xtx_kernel, diag_add_kernel", small=dict(b=300, d=50), production=dict(b=16384, d=1024), rtol=1e-2, atol=0.5)  # fmt: skip
def gram_matrix(file, device, b, d):
    x = tm.normal(b, d, device=device)

    def run():
        y = torch.empty(d, d, device=device)
        grid = lambda meta: (-(-d // meta["BM"]), -(-d // meta["BN"]))  # noqa: E731
        file.xtx_kernel[grid](x, y, b, d, *x.stride(), *y.stride())
        kernel = file.diag_add_kernel
        kernel.configs = kernel.configs[-1:]  # it adds in place, which tuning would repeat
        kernel[lambda meta: (-(-d // meta["BLOCK"]),)](y, 3.0, d, *y.stride())
        return y

    return run, lambda: x.double().T @ x.double() + 3 * torch.eye(d, device=device)


@repository.case(FOLDER + "ridge/kernels.py", "xty_kernel", small=dict(b=300, d=50), production=dict(b=65536, d=1024), rtol=1e-3, atol=1e-2)  # fmt: skip
def products_with_targets(file, device, b, d):
    x, y = tm.normal(b, d, device=device), tm.normal(b, device=device)

    def run():
        z = torch.empty(d, device=device)
        file.xty_kernel[lambda meta: (-(-d // meta["BLOCK_D"]),)](x, y, z, b, d, *x.stride())
        return z

    return run, lambda: x.double().T @ y.double()


@repository.case(FOLDER + "logistic/kernels.py", "logistic_predict_kernel", small=dict(b=30, d=300), production=dict(b=65536, d=2000), rtol=1e-4, atol=1e-5)  # fmt: skip
def logistic(file, device, b, d):
    x = tm.normal(b, d, device=device)
    w, c = tm.normal(d, device=device, scale=d**-0.5), tm.normal(1, device=device)

    def run():
        y = torch.empty(b, device=device)
        file.logistic_predict_kernel[(b,)](x, w, c, y, b, d, *x.stride())
        return y

    return run, lambda: torch.sigmoid(x.double() @ w.double() + c.double())
