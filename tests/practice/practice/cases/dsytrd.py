"""triton-dsytrd: symmetric matrices made tridiagonal, in one stage and in two, in float64."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("chengy-sysu/triton-dsytrd", "8374f438b17b3221405b5a314d2c21c8f1520ac4", folders=(".",))  # fmt: skip
F64 = dict(dtype=torch.float64)
CLOSE = dict(rtol=1e-8, atol=1e-8)


def _symmetric(n, device):
    a = torch.randn(n, n, **F64)
    return ((a + a.T) / 2).to(device)


def _eigenvalues(d, e):
    d, e = d.cpu(), e.cpu()
    return torch.linalg.eigvalsh(torch.diag(d) + torch.diag(e, 1) + torch.diag(e, -1))


for _impl in ("dot", "dotk", "outer"):

    @repository.case("triton_dsyr2k.py", "_dsyr2k_kernel", small=dict(n=70, k=24), production=dict(n=4096, k=128), name=f"rank_2k_{_impl}", **CLOSE)  # fmt: skip
    def rank_2k(file, device, n, k, impl=_impl):
        a, b = (tm.normal(k, n, device=device, **F64) for _ in range(2))
        c = _symmetric(n, device)

        def run():
            out = c.clone()
            file.dsyr2k_triton_(out, a, b, alpha=-1.0, beta=0.5, impl=impl, bm=32, bn=32)
            return out.tril()

        return run, lambda: (0.5 * c - a.T @ b - b.T @ a).tril()


@repository.case("triton_dsytrd.py", "_syr2_update_kernel", small=dict(n=20), production=dict(n=512), **CLOSE)  # fmt: skip
def one_stage(file, device, n):
    a = _symmetric(n, device)
    return lambda: _eigenvalues(*file.dsytrd_triton_(a.clone())), lambda: torch.linalg.eigvalsh(a.cpu())  # fmt: skip


for _name, _options in (
    ("sweeps", dict(bc_magma=True)),
    ("persistent", dict(bc_magma_persist=True, workers=2)),
):

    @repository.case("triton_tridiag_2stage.py", "sbr_to_band_dbbr_triton_", small=dict(n=48, b=8), production=dict(n=512, b=32), name=f"two_stages_{_name}", **CLOSE)  # fmt: skip
    def two_stages(file, device, n, b, options=_options):
        a = _symmetric(n, device)
        return lambda: _eigenvalues(*file.two_stage_tridiag(a.clone(), b, **options)[:2]), lambda: torch.linalg.eigvalsh(a.cpu())  # fmt: skip


@repository.case("triton_tridiag_2stage.py", "givens_cs_kernel, apply_givens_rows_kernel, apply_givens_cols_kernel, set2_kernel", small=dict(n=20, b=4), production=dict(n=96, b=16), **CLOSE)  # fmt: skip
def rotations(file, device, n, b):
    a = _symmetric(n, device).tril(b).triu(-b)

    def run():
        out = a.clone()
        file.bc_band_to_tridiag_triton_(out, b, dense=True)
        return _eigenvalues(out.diagonal(), out.diagonal(-1))

    return run, lambda: torch.linalg.eigvalsh(a.cpu())
