"""inductor_test_gather_scatter: sums over edges, by rows and with atomics."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository
from practice.cases.cxgnn import graph

repository = Repository(
    "fishmingyu/inductor_test_gather_scatter", "721a6967658a88d10be015f52133876ff421959c",
)  # fmt: skip
SIZES = dict(small=dict(nodes=20, edges=96, d=32), production=dict(nodes=100000, edges=2000000, d=128))  # fmt: skip
NEAR = dict(rtol=1e-4, atol=1e-4)


def _case(by_rows):
    def build(file, device, nodes, edges, d):
        first, source, ends = graph(device, nodes, edges)
        x = tm.normal(nodes, d, device=device)

        def run():
            out = torch.zeros(nodes, d, device=device)
            if by_rows:
                file.spmm_csr_wrapper(first, source, x, out)
            else:
                file.spmm_atomic_wrapper(torch.stack([source, ends]), x, out)
            return out

        def want():
            out = torch.zeros(nodes, d, dtype=torch.float64, device=device)
            return out.index_add_(0, ends, x.double()[source])

        return run, want

    name = "spmm_csr" if by_rows else "spmm_atomic"
    repository.case("gpu/spmm_kernel.py", name, **SIZES, **NEAR, name=name)(build)


_case(True)
_case(False)
