"""triton-pcg-solver: conjugate gradients with sparse matrices, a row after the other."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("adsharma/triton-pcg-solver", "1cecc5227a26ae758f9593c736e9e6d93859dd78", stand_ins={"scipy": {}, "scipy.sparse": {}})  # fmt: skip


def _matrix(n, device):
    """Rows of one to five entries, the first of which is on the diagonal: both forms of it."""
    rows = []
    for i in range(n):
        far = torch.randperm(n)[: i % 5].tolist()
        rows.append([i, *(j for j in far if j != i)])
    starts = tm.starts([len(r) for r in rows], device)
    columns = torch.tensor([j for r in rows for j in r], dtype=torch.int32)
    values = torch.randn(len(columns))
    values[starts[:-1].cpu().long()] = 6.0
    dense = torch.zeros(n, n, dtype=torch.float64)
    dense[torch.arange(n).repeat_interleave(starts.diff().cpu()), columns.long()] = values.double()
    return (values.to(device), starts, columns.to(device)), dense.to(device)


@repository.case("pcg/solver.py", "pcg_init_kernel", small=dict(n=300), production=dict(n=8192), rtol=1e-4, atol=1e-4)  # fmt: skip
def first_residual(file, device, n):
    parts, dense = _matrix(n, device)
    b, x = tm.normal(n, device=device), tm.normal(n, device=device)

    def run():
        r = torch.empty_like(b)
        file.pcg_init_kernel[(-(-n // 64),)](*parts, b, x, r, n, BLOCK_SIZE=64)
        return r

    return run, lambda: b.double() - dense @ x.double()


def _iteration(name, first):
    """One program does all rows: with more of them it reads sums that others still add to."""

    @repository.case("pcg/solver.py", "pcg_iteration_kernel", small=dict(n=60), production=dict(n=2000), rtol=1e-3, atol=1e-3, name=name)  # fmt: skip
    def build(file, device, n):
        parts, dense = _matrix(n, device)
        x, r, p = (tm.normal(n, device=device) for _ in range(3))

        def run():
            after = [t.clone() for t in (x, r, p)]
            z, tmp = torch.zeros_like(x), torch.full((1,), 7.0, device=device)
            file.pcg_iteration_kernel.fn[(1,)](*parts, *after, z, tmp, n, 0.25, first, BLOCK_SIZE=1 << 12)  # fmt: skip
            return after

        def want():
            u, v = x.double(), r.double()
            z = v / 6
            q = z if first else z + 0.25 * p.double()
            step = (v @ z) / (q @ (dense @ q))
            return [u + step * q, v - step * (dense @ q), q]

        return run, want


_iteration("first_iteration", True)
_iteration("iteration", False)
