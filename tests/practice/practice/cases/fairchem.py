"""fairchem: spherical harmonics of atoms turned into the frames of edges and back, with blocks of
Wigner matrices."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "facebookresearch/fairchem",
    "a73c95be1db2f5ca60cce19f00fd5bff4c29fd7d",
    packages={"fairchem": "src"},
)
FILE = "src/fairchem/core/models/uma/triton/kernels.py"
SIZES = dict(small=dict(e=7, nodes=5, c=100), production=dict(e=20000, nodes=1000, c=128))
TO_M, TO_L = [0, 2, 6, 3, 7, 1, 5, 8, 4], [0, 5, 1, 3, 8, 6, 2, 4, 7]
CLOSE = dict(rtol=1e-4, atol=1e-4)


def _wigner(e, device):
    w = torch.zeros(e, 9, 9)
    for a, b in ((0, 1), (1, 4), (4, 9)):
        w[:, a:b, a:b] = torch.randn(e, b - a, b - a)
    return w.to(device)


def _grid(e, c):
    """Programs, and the edges from one of a program to its next."""
    return (min(e, 3 if e < 100 else 2048), -(-c // 128))


@repository.case(FILE, "node_to_edge_wigner_permute_kernel", **SIZES, **CLOSE)
def to_edges(file, device, e, nodes, c):
    x, w = tm.normal(nodes, 9, c, device=device), _wigner(e, device)
    ends = tm.integers(0, nodes, 2, e, device=device)

    def run():
        out, kept = (torch.empty(e, 9, 2 * c, device=device) for _ in range(2))
        grid = _grid(e, c)
        file.node_to_edge_wigner_permute_kernel[grid](x, ends, w, out, kept, e, c, *x.stride(), ends.stride(0), *out.stride(), *kept.stride(), BLOCK_C=128, GRID_E_STRIDE=grid[0])  # fmt: skip
        return out, kept

    def want():
        both = torch.cat([x[ends[0]], x[ends[1]]], -1).double()
        return (w.double() @ both)[:, TO_M], both

    return run, want


@repository.case(FILE, "node_to_edge_wigner_permute_bwd_dx_kernel", **SIZES, **CLOSE)
def to_edges_gradient(file, device, e, nodes, c):
    up, w = tm.normal(e, 9, 2 * c, device=device), _wigner(e, device)

    def run():
        out = torch.empty_like(up)
        grid = _grid(e, c)[:1]
        file.node_to_edge_wigner_permute_bwd_dx_kernel[grid](up, w, out, e, c, *up.stride(), *out.stride(), BLOCK_C=128, GRID_E_STRIDE=grid[0])  # fmt: skip
        return out

    return run, lambda: w.double().mT @ up.double()[:, TO_L]


@repository.case(FILE, "permute_wigner_inv_edge_to_node_kernel", **SIZES, **CLOSE)
def from_edges(file, device, e, nodes, c):
    x, w = tm.normal(e, 9, c, device=device), _wigner(e, device)

    def run():
        out, kept = torch.empty_like(x), torch.empty_like(x)
        grid = _grid(e, c)
        file.permute_wigner_inv_edge_to_node_kernel[grid](x, w, out, kept, e, c, BLOCK_C=128, GRID_E_STRIDE=grid[0])  # fmt: skip
        return out, kept

    return run, lambda: (w.double() @ x.double()[:, TO_L], x[:, TO_L])


@repository.case(FILE, "permute_wigner_inv_edge_to_node_bwd_dx_kernel", **SIZES, **CLOSE)
def from_edges_gradient(file, device, e, nodes, c):
    up, w = tm.normal(e, 9, c, device=device), _wigner(e, device)

    def run():
        out = torch.empty_like(up)
        grid = _grid(e, c)
        file.permute_wigner_inv_edge_to_node_bwd_dx_kernel[grid](up, w, out, e, c, BLOCK_C=128, GRID_E_STRIDE=grid[0])  # fmt: skip
        return out

    return run, lambda: (w.double().mT @ up.double())[:, TO_M]


@repository.case(FILE, "permute_wigner_inv_edge_to_node_bwd_dw_kernel", small=dict(e=7, nodes=5, c=128), production=SIZES["production"], **CLOSE)  # fmt: skip
def wigner_gradient(file, device, e, nodes, c):
    up, x = tm.normal(e, 9, c, device=device), tm.normal(e, 9, c, device=device)

    def run():
        out = torch.zeros(e, 9, 9, device=device)
        grid = _grid(e, c)[:1]
        file.permute_wigner_inv_edge_to_node_bwd_dw_kernel[grid](up, x, out, e, C=c, GRID_E_STRIDE=grid[0])  # fmt: skip
        return out

    def want():
        blocks = _wigner(1, device).ne(0)
        return (up.double() @ x.double().mT) * blocks

    return run, want
