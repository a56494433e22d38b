"""molfun: distances and contacts of atoms, RMSD with alignment, and layers of protein models."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("rubencr14/molfun", "93152526ceba956da6637816e664871495947d25")
ANALYSIS, MODELS = "molfun/kernels/analysis/", "molfun/kernels/models/"
HALF = dict(rtol=2e-2, atol=2e-2)
FP16 = torch.float16


def _contacts(file, function, kernel):
    def build(module, device, n):
        x = tm.normal(n, 3, device=device, scale=8.0)

        def run():
            packed = getattr(module, function)(x, 9.0)
            bits = packed.unsqueeze(-1) >> torch.arange(8, device=device, dtype=torch.uint8) & 1
            return bits.flatten(1)[:, :n]

        def want():
            near = (x.double()[:, None] - x.double()).square().sum(-1) < 81
            return near.fill_diagonal_(False)

        return run, want

    repository.case(f"{ANALYSIS}{file}.py", kernel, small=dict(n=150), production=dict(n=8192), share=1e-5, name=function)(build)  # fmt: skip


_contacts("contact_map_atoms", "contact_map_atoms_bitpack", "contact_map_tiled_kernel")
_contacts("contact_map_gem", "contact_map_atoms_bitpack_fast", "contact_map_kernel_tiled")


@repository.case(f"{ANALYSIS}pairwise_distance.py", "pairwise_distance_kernel", small=dict(n=150), production=dict(n=8192), rtol=1e-3, atol=1e-2)  # fmt: skip
def distances(file, device, n):
    x = tm.normal(n, 3, device=device, scale=8.0)
    return lambda: file.pairwise_distances_triton(x), lambda: (x.double()[:, None] - x.double()).norm(dim=-1)  # fmt: skip


@repository.case(f"{ANALYSIS}rmsd.py", "rmsd_partial_kernel, rmsd_batch_kernel_1d", small=dict(m=4, n=1500), production=dict(m=2000, n=20000), rtol=1e-4)  # fmt: skip
def rmsd(file, device, m, n):
    a, b = tm.normal(n, 3, device=device), tm.normal(m, n, 3, device=device)

    def want():
        far = (b.double() - a.double()).square().sum(-1).mean(-1).sqrt()
        return far[0], far

    return lambda: (file.rmsd_triton(a, b[0]), file.rmsd_batch_triton(a, b)), want


@repository.case(f"{ANALYSIS}rmsd.py", "ref_stats_kernel, kabsch_stats_batch_kernel", small=dict(m=4, n=1500), production=dict(m=2000, n=20000), rtol=1e-3, atol=1e-3)  # fmt: skip
def aligned_rmsd(file, device, m, n):
    a, noise = tm.normal(n, 3, device=device, scale=5.0), tm.normal(m, n, 3, device=device)
    turn = torch.linalg.qr(torch.randn(m, 3, 3)).Q
    turn = (turn * turn.det().sign()[:, None, None]).to(device)
    b = a @ turn + noise + 3.0

    def want():
        x, y = a.double() - a.double().mean(0), b.double() - b.double().mean(1, keepdim=True)
        s = torch.linalg.svdvals(x.T @ y)
        sign = (x.T @ y).det().sign()
        total = x.square().sum() + y.square().sum((1, 2)) - 2 * (s[:, 0] + s[:, 1] + sign * s[:, 2])
        return (total.clamp(min=0) / n).sqrt()

    return lambda: file.rmsd_aligned_batch_fused(a, b), want


@repository.case(f"{MODELS}gelu_triton.py", "gelu_kernel_erf", small=dict(m=13, n=300), production=dict(m=8192, n=4096), **HALF)  # fmt: skip
def gelu(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=FP16)
    return lambda: file.gelu_triton(x), lambda: F.gelu(x.double())


@repository.case(f"{MODELS}layernorm_triton.py", "layernorm_fwd_kernel", small=dict(m=13, n=300), production=dict(m=8192, n=4096), **HALF)  # fmt: skip
def layer_norm(file, device, m, n):
    x, w, b = (tm.normal(*s, device=device, dtype=FP16) for s in ((m, n), (n,), (n,)))
    return lambda: file.layernorm_triton(x, w, b), lambda: tm.layer_norm(x, w, b, 1e-5)


def _linear(file, function, exact, residual):
    def build(module, device, m, n, k):
        x, w, b, r = (tm.normal(*s, device=device, dtype=FP16) for s in ((2, m, k), (n, k), (n,), (2, m, n)))  # fmt: skip
        w = w / k**0.5

        def want():
            return exact(x.double() @ w.double().T + b.double(), r.double())

        return lambda: getattr(module, function)(x, w, b, *[r] * residual), want

    repository.case(f"{MODELS}{file}.py", f"{file.replace('triton', 'kernel')}", small=dict(m=40, n=70, k=96), production=dict(m=4096, n=4096, k=1024), name=file, **HALF)(build)  # fmt: skip


_linear("fused_linear_gelu_triton", "fused_linear_gelu_triton", lambda y, r: F.gelu(y), 0)
_linear("fused_linear_bias_residual_triton", "fused_linear_bias_residual_triton", lambda y, r: y + r, 1)  # fmt: skip
