"""TurboQuant: keys turned and put in classes, with a bit of what is left, and their products."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("dhawalc/turboQuantDC", "521e1552d52d4ff91882a7fe2372eb8046fdf136", packages={"turboquantdc": "."})  # fmt: skip
FILE = "turboquantdc/triton_kernels.py"


def _rotation(d, device):
    return torch.linalg.qr(torch.randn(d, d))[0].contiguous().to(device)


def _classes(n, d, device):
    """A class, a norm for each of ``n`` rows, and the centres."""
    centroids = (torch.linspace(-2, 2, 8) / d**0.5).to(device)
    ids = tm.integers(0, 8, n, d, device=device, dtype=torch.int32)
    return ids, (torch.rand(n) + 0.5).to(device), centroids


@repository.case(FILE, "_quantize_kernel", small=dict(n=20, d=64), production=dict(n=16384, d=128), rtol=1e-3, atol=1e-4, share=2e-4)  # fmt: skip
def quantised(file, device, n, d):
    """Where a value lies at a border of two classes, the last bit decides."""
    x = torch.nn.functional.normalize(torch.randn(n, d), dim=-1).to(device)
    r, s = _rotation(d, device), tm.normal(d, d, device=device)
    centroids = (torch.linspace(-2, 2, 8) / d**0.5).to(device)
    borders = ((centroids[1:] + centroids[:-1]) / 2).contiguous()

    def want():
        y = x.double() @ r.double().T
        ids = torch.bucketize(y, borders.double())
        rest = y - centroids.double()[ids]
        return ids, torch.where(rest @ s.double().T >= 0, 1.0, -1.0), rest.norm(dim=-1)

    return lambda: file.triton_quantize(x, r, borders, centroids, s), want


@repository.case(FILE, "_inner_product_kernel", small=dict(q=3, n=70, d=64), production=dict(q=64, n=16384, d=128), rtol=1e-3, atol=1e-3)  # fmt: skip
def products(file, device, q, n, d):
    queries, r, s = tm.normal(q, d, device=device), _rotation(d, device), tm.normal(d, d, device=device)  # fmt: skip
    ids, norms, centroids = _classes(n, d, device)
    signs = torch.where(torch.rand(n, d) < 0.5, 1.0, -1.0).to(device)
    rest = torch.rand(n).to(device)

    def want():
        keys = centroids.double()[ids.long()]
        y = queries.double() @ r.double().T @ keys.T
        more = queries.double() @ s.double().T @ signs.double().T
        return (y + more * rest.double() * math.sqrt(math.pi / 2) / d) * norms.double()

    return lambda: file.triton_inner_product(queries, r, ids, centroids, signs, s, rest, norms), want  # fmt: skip


@repository.case(FILE, "_dequantize_kernel, _dequantize_residual_kernel", small=dict(n=20, d=64), production=dict(n=16384, d=128), rtol=1e-3, atol=1e-4)  # fmt: skip
def values(file, device, n, d):
    ids, norms, centroids = _classes(n, d, device)
    r, signs = _rotation(d, device), torch.where(torch.rand(n, d) < 0.5, 1.0, -1.0).to(device)
    scale = (torch.rand(n) / d**0.5).to(device)

    def run():
        return (
            file.triton_dequantize(ids, centroids, r, norms),
            file.triton_dequantize_residual(ids, centroids, r, norms, signs, scale),
        )

    def want():
        y = centroids.double()[ids.long()]
        more = y + signs.double() * scale.double()[:, None]
        return [x @ r.double() * norms.double()[:, None] for x in (y, more)]

    return run, want


@repository.case(FILE, "_wht_kernel", small=dict(n=20, d=64), production=dict(n=1 << 18, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def hadamard(file, device, n, d):
    x = tm.normal(n, d, device=device)
    signs = torch.where(torch.rand(d) < 0.5, 1.0, -1.0).to(device)

    def run():
        y = file.triton_wht_rotate(x, signs)
        return y, file.triton_wht_unrotate(y, signs)

    def want():
        h = torch.ones(1, 1, dtype=torch.float64, device=device)
        while len(h) < d:
            h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)]) / math.sqrt(2)
        return (x * signs).double() @ h, x

    return run, want
