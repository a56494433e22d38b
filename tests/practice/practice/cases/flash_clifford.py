"""flash-clifford: products of multivectors in two and three dimensions, gated and normalised."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("maxxxzdn/flash-clifford", "8800de0c67037b8ff5473262254a9a7986e36e5e")


def _blades(dims):
    return sorted(range(1 << dims), key=lambda b: (b.bit_count(), [-(b >> i & 1) for i in range(dims)]))  # fmt: skip


def _products(dims):
    """Of each pair of blades: their product, its sign, and which of the weights it has."""
    blades = _blades(dims)
    rows = []
    for i, a in enumerate(blades):
        for j, b in enumerate(blades):
            swaps = sum((a >> k + 1 & b).bit_count() for k in range(dims))
            path = a.bit_count(), (a ^ b).bit_count(), b.bit_count()
            rows.append((i, j, blades.index(a ^ b), -1 if swaps & 1 else 1, path))
    paths = sorted({row[-1] for row in rows})
    return [(*row[:-1], paths.index(row[-1])) for row in rows]


def _right(dims, x, y, weight):
    x, y = (u * (0.5 * (1 + torch.erf(u[0] * 0.5**0.5))) for u in (x, y))
    sums = {}
    for i, j, k, sign, path in _products(dims):
        key = k, path
        sums[key] = sums.get(key, 0) + sign * x[i] * y[j]
    out = [torch.zeros_like(x[0]) for _ in x]
    for (k, path), product in sums.items():
        out[k] = out[k] + (product @ weight[path] if weight.dim() == 3 else product * weight[:, path])  # fmt: skip
    out = torch.stack(out)
    grades = [b.bit_count() for b in _blades(dims)]
    norm = [(out[[g == h for h in grades]] ** 2).mean(-1).sum(0) for g in grades]
    return out / (torch.stack(norm)[..., None] + 1e-6).sqrt()


def _case(name, file, kernels, function, dims, is_full, **sizes):
    def build(file, device, b, n):
        x, y, up = (tm.normal(1 << dims, b, n, device=device) for _ in range(3))
        paths = 10 if dims == 2 else 20
        shape = (paths, n, n) if is_full else (n, paths)
        weight = tm.normal(*shape, device=device, scale=n**-0.5 if is_full else 1.0)
        return (
            lambda: tm.with_gradients(getattr(file, function), up, x, y, weight),
            lambda: tm.with_gradients(
                lambda *u: _right(dims, *u), up.double(), x, y, weight, exact=True
            ),
        )

    repository.case(file, kernels, rtol=1e-3, atol=1e-3, share=1e-4, name=name, **sizes)(build)


WEIGHTED = "gelu_wgp_norm_kernel_fwd, normalize_with_sqrt_kernel, grad_o_dot_o_kernel, gelu_wgp_norm_kernel_bwd"  # fmt: skip
FULL = "gelu_pairwise_kernel_fwd, assemble_kernel, normalize_with_sqrt_kernel, grad_o_dot_o_kernel, disassemble_kernel, gelu_pairwise_kernel_bwd"  # fmt: skip
SMALL = dict(b=12, n=256)
_case("plane", "ops/p2m0.py", WEIGHTED, "fused_gelu_sgp_norm_2d", 2, False, small=SMALL, production=dict(b=4096, n=1024))  # fmt: skip
_case("space", "ops/p3m0.py", WEIGHTED, "fused_gelu_sgp_norm_3d", 3, False, small=SMALL, production=dict(b=4096, n=512))  # fmt: skip
_case("plane_connected", "ops/fc_p2m0.py", FULL, "fused_gelu_fcgp_norm_2d", 2, True, small=SMALL, production=dict(b=4096, n=512))  # fmt: skip
_case("space_connected", "ops/fc_p3m0.py", FULL, "fused_gelu_fcgp_norm_3d", 3, True, small=SMALL, production=dict(b=2048, n=512))  # fmt: skip
