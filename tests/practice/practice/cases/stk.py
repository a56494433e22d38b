"""STK: products with block-sparse matrices, of 128x128 blocks."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "stanford-futuredata/stk",
    "736313768ef697ce13a0594a41b2512a0fbc9884",
    packages={"stk": "."},
    inits=("stk", "stk.ops", "stk.random", "stk.backend"),
)
FILE = "stk/ops/linear_ops.py"
SMALL, LARGE = dict(m=256, n=256, k=256), dict(m=4096, n=4096, k=4096)


def _sparse(file, device, rows, columns):
    import stk

    blocks = torch.randint(0, 2, (rows // 128, columns // 128))
    blocks[0, 0] = 1
    mask = blocks.repeat_interleave(128, 0).repeat_interleave(128, 1)
    dense = (torch.randn(rows, columns) * mask).half().to(device)
    return dense, mask.to(device), stk.ops.to_sparse(dense, 128)


@repository.case(FILE, "_dsd_kernel", small=SMALL, production=LARGE, rtol=1e-2, atol=2e-1)
def sparse_left(file, device, m, n, k):
    dense, _, a = _sparse(file, device, m, k)
    b = tm.normal(k, n, device=device, dtype=torch.float16)
    return lambda: file.dsd(a, b), lambda: dense.double() @ b.double()


@repository.case(FILE, "_dsd_kernel", small=SMALL, production=LARGE, rtol=1e-2, atol=2e-1)
def sparse_left_transposed(file, device, m, n, k):
    dense, _, a = _sparse(file, device, k, m)
    b = tm.normal(n, k, device=device, dtype=torch.float16)
    return lambda: file.dsd(a.t(), b.t()), lambda: dense.double().T @ b.double().T


@repository.case(FILE, "_dds_kernel", small=SMALL, production=LARGE, rtol=1e-2, atol=2e-1)
def sparse_right(file, device, m, n, k):
    dense, _, b = _sparse(file, device, k, n)
    a = tm.normal(m, k, device=device, dtype=torch.float16)
    return lambda: file.dds(a, b), lambda: a.double() @ dense.double()


@repository.case(FILE, "_sdd_kernel, _row_indices_kernel", small=SMALL, production=LARGE, rtol=1e-2, atol=2e-1)  # fmt: skip
def sparse_result(file, device, m, n, k):
    import stk

    _, mask, topology = _sparse(file, device, m, n)
    a, b = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, k), (k, n)))

    def run():
        rows = torch.empty_like(topology.row_indices)
        stk.ops.row_indices(
            topology.shape, topology.data, topology.offsets, topology.column_indices
        )
        return stk.ops.to_dense(file.sdd(a, b, topology))

    return run, lambda: (a.double() @ b.double()) * mask
