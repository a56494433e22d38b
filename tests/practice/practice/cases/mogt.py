"""MOGT: products of a sequence of 16 x 16 matrices, and affine scans with them, by blocks."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("lkcfqy/MOGT", "bfe1e9470da4c8545536582223bf4ae33609f5a7", folders=(".",))
SIZES = dict(
    small=dict(b=2, n=40, c=12, block=16), production=dict(b=32, n=2048, c=64, block=128),
    rtol=1e-3, atol=1e-3,
)  # fmt: skip


def _matrices(b, n, device):
    return (torch.eye(16) + torch.randn(b, n, 16, 16) * 0.02).to(device)


def _products(u, v, block):
    """Of each block of the sequence, the products of its matrices, and the states from 0."""
    state = torch.zeros_like(v[:, 0])
    product = torch.eye(16, dtype=u.dtype, device=u.device).expand_as(u[:, 0])
    products, states = [], []
    for t in range(u.shape[1]):
        if t % block == 0:
            state, product = torch.zeros_like(state), torch.eye(16, dtype=u.dtype, device=u.device)
        state, product = u[:, t] @ state + v[:, t], u[:, t] @ product
        products.append(product)
        states.append(state)
    return torch.stack(products, 1), torch.stack(states, 1)


@repository.case("triton_scan.py", "_fused_scan_kernel", **SIZES)
def products(file, device, b, n, c, block):
    u = _matrices(b * 4, n // 4, device)

    def want():
        return _products(u.double(), u.double(), n)[0]

    return lambda: file.triton_fused_scan(u), want


@repository.case("triton_scan.py", "_affine_local_scan_kernel", **SIZES)
def affine_scan(file, device, b, n, c, block):
    u, v = _matrices(b, n, device), tm.normal(b, n, 16, c, device=device)
    blocks, part = -(-n // block), 16

    def run():  # the wrapper asks for the name of the device, or it would be called
        out = [torch.empty_like(u), torch.empty_like(v)]
        out += [torch.empty(b, blocks, 16, size, device=device) for size in (16, c)]
        strides = [s for x in (u, v, *out) for s in x.stride()]
        file._affine_local_scan_kernel[(b, blocks, -(-c // part))](
            u, v, *out, *strides, L=n, C=c, BLOCK_SIZE=block, R=16, BLOCK_C=part
        )
        return out

    def want():
        p, h = _products(u.double(), v.double(), block)
        last = [min((i + 1) * block, n) - 1 for i in range(blocks)]
        return p, h, p[:, last], h[:, last]

    return run, want
