"""CxGNN: sums over the neighbours of nodes, also with a matrix for each kind of edge."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "xxcclong/CxGNN-Compute", "88344aa34500deca388118886b6b51dedcfc0408",
    packages={"cxgnncomp": "."}, stand_ins={"cxgnncomp_backend": {}},
)  # fmt: skip
FOLDER = "cxgnncomp/codegen/"


def graph(device, nodes, edges):
    """The first edge of each node, and where edges come from, and where they go to."""
    ends = torch.randint(0, nodes, (edges,)).sort().values
    first = tm.starts(torch.bincount(ends, minlength=nodes).tolist(), device, torch.int64)
    return first, tm.integers(0, nodes, edges, device=device), ends.to(device)


def _sums(x, ends, nodes):
    return torch.zeros(nodes, x.shape[1], dtype=torch.float64, device=x.device).index_add_(0, ends, x)  # fmt: skip


SIZES = dict(small=dict(nodes=20, edges=90, d=40), production=dict(nodes=100000, edges=2000000, d=128))  # fmt: skip


def _spmm(weighted):
    def build(file, device, nodes, edges, d):
        first, source, ends = graph(device, nodes, edges)
        x, values = tm.normal(nodes, d, device=device), tm.normal(edges, device=device)

        def run():
            out = torch.empty(nodes, d, device=device)

            def grid(meta):
                return nodes, -(-d // (meta["BLOCK_X"] * meta["BLOCK_Y"]))

            kernel = file.spmm_with_value_kernel if weighted else file.spmm_kernel
            kernel[grid](x, first, source, *([values] if weighted else []), out, d)
            return out

        def want():
            rows = x.double()[source]
            return _sums(rows * values.double()[:, None] if weighted else rows, ends, nodes)

        return run, want

    name = "spmm_with_value_kernel" if weighted else "spmm_kernel"
    repository.case(FOLDER + "triton_spmm.py", name, **SIZES, rtol=1e-4, atol=1e-4, name=name.removesuffix("_kernel"))(build)  # fmt: skip


_spmm(False)
_spmm(True)


@repository.case(FOLDER + "rgcn_kernel.py", "rgcn_kernel", small=dict(nodes=10, edges=40, d=64, e=64), production=dict(nodes=2000, edges=20000, d=64, e=64), rtol=1e-3, atol=1e-3)  # fmt: skip
def by_kinds(file, device, nodes, edges, d, e, kinds=3):
    first, source, ends = graph(device, nodes, edges)
    x, w = tm.normal(nodes, d, device=device), tm.normal(kinds, e, d, device=device, scale=d**-0.5)
    kind = tm.integers(0, kinds, edges, device=device)

    def run():
        out = torch.zeros(nodes, e, device=device)
        kernel = file.rgcn_kernel.fn  # an autotuner would add to the sums at each trial
        kernel[(nodes, d // 64, e // 64)](x, first, source, kind, w, out, d, e, 32, 2, 64)
        return out

    def want():
        return _sums((w.double()[kind] @ x.double()[source][..., None])[..., 0], ends, nodes)

    return run, want
