"""gpumode_qr: small factorizations, a matrix in the registers of each program."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("jamesETsmith/gpumode_qr", "6bb0a3cb8c4d56abf8122bad60d43c55be1af010", packages={"qrbench": "src"})  # fmt: skip
FILE = "src/qrbench/triton_kernels.py"
SMALL, LARGE = dict(b=3, n=24), dict(b=640, n=32)


@repository.case(FILE, "_chol_inv_block_kernel", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-4)  # fmt: skip
def cholesky(file, device, b, n):
    x = tm.normal(b, n, n, device=device)
    spd = x @ x.mT / n + torch.eye(n, device=device)
    want = torch.linalg.cholesky(spd.double())
    return lambda: file.chol_inv_block(spd), lambda: (want, torch.linalg.inv(want))


@repository.case(FILE, "_triu_inv_block_kernel", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-4)  # fmt: skip
def triangular_inverse(file, device, b, n):
    x = torch.triu(tm.normal(b, n, n, device=device)) / n + 2 * torch.eye(n, device=device)
    return lambda: file.triu_inv_block(x), lambda: torch.linalg.inv(x.double())


@repository.case(FILE, "_hh_fused_qr_kernel", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-3)
def householder(file, device, b, n):
    x = tm.normal(b, n, n, device=device)

    def run():
        h, tau = file.hh_fused_qr(x)
        q = torch.linalg.householder_product(h.double(), tau.double())
        return q @ torch.triu(h.double()), q.mT @ q

    return run, lambda: (x.double(), torch.eye(n, device=device).double().expand(b, n, n))


@repository.case(FILE, "_hh_panel_kernel", small=dict(b=2, r=48, w=8), production=dict(b=640, r=512, w=32), rtol=1e-3, atol=1e-3)  # fmt: skip
def panel(file, device, b, r, w):
    x = tm.normal(b, r, w, device=device)

    def run():
        h, v, _, t = (part.double() for part in file.hh_panel_qr(x))
        q = torch.eye(r, device=device).double() - v @ t @ v.mT
        return q[:, :, :w] @ torch.triu(h[:, :w]), q.mT @ q

    return run, lambda: (x.double(), torch.eye(r, device=device).double().expand(b, r, r))
