"""mamba3-fused-triton-kernel: one step of a state space model, of one input or of rank four."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("michaelYZh/mamba3-fused-triton-kernel", "31a6c9e09e3e4090374b156b34b5350d557de2d0")  # fmt: skip
FOLDER = "src/kernels/"


def _gates(device, b, h):
    a, dt, trap = (torch.rand(b, h).to(device) for _ in range(3))
    return -a, dt, trap, tm.normal(h, device=device)


def _next(state, bx, before, a, dt, trap):
    ends = (...,) + (None,) * (state.dim() - 2)
    a, dt, trap = (x[ends] for x in (a, dt, trap))
    return a.exp() * state + dt * ((1 - trap) * bx + trap * 0.5 * (bx + before))


@repository.case(f"{FOLDER}siso_decode_fused.py", "_siso_decode_fused_kernel", small=dict(b=2, h=3, p=8, d=24), production=dict(b=64, h=64, p=64, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def siso(file, device, b, h, p, d):
    x, z = (tm.normal(b, h, p, device=device) for _ in range(2))
    bs, cs = (tm.normal(b, h, d, device=device) for _ in range(2))
    state, before = (tm.normal(b, h, p, d, device=device) for _ in range(2))
    gates = _gates(device, b, h)

    def want():
        x_, z_, b_, c_, s, p_, a, dt, trap, skip = (t.cpu().double() for t in (x, z, bs, cs, state, before, *gates))  # fmt: skip
        bx = x_[..., None] * b_[:, :, None]
        s = _next(s, bx, p_, a, dt, trap)
        y = (s * c_[:, :, None]).sum(-1) + skip[:, None] * x_
        return y * F.silu(z_), s, bx

    return lambda: file.mamba3_siso_decode_fused_triton(x, bs, cs, *gates, z, state.clone(), before.clone()), want  # fmt: skip


@repository.case(f"{FOLDER}mimo_decode_fused.py", "_mimo_decode_fused_kernel_R4", small=dict(b=2, h=3, p=8, d=24), production=dict(b=256, h=64, p=64, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def mimo(file, device, b, h, p, d):
    x, z = (tm.normal(b, h, p, device=device) for _ in range(2))
    bs, cs = (tm.normal(b, 4, h, d, device=device) for _ in range(2))
    state, before = (tm.normal(b, h, d, device=device) for _ in range(2))
    down, up = (tm.normal(h, 4, p, device=device, scale=p**-0.5) for _ in range(2))
    gates = _gates(device, b, h)

    def want():
        x_, z_, b_, c_, s, p_, down_, up_, a, dt, trap, skip = (t.cpu().double() for t in (x, z, bs, cs, state, before, down, up, *gates))  # fmt: skip
        ranks = torch.einsum("bhp,hrp->brh", x_, down_)
        bx = (ranks[..., None] * b_).sum(1)
        s = _next(s, bx, p_, a, dt, trap)
        y = (c_ * s[:, None]).sum(-1) + skip * ranks
        return torch.einsum("brh,hrp->bhp", y, up_) * F.silu(z_), s, bx

    return lambda: file.mamba3_mimo_decode_fused_triton(x, bs, cs, *gates, down, up, z, state.clone(), before.clone()), want  # fmt: skip


def _ranks(r):
    def build(file, device, b, h, p, d):
        x = tm.normal(b, h, p, device=device)
        bs, cs = (tm.normal(b, r, h, d, device=device) for _ in range(2))
        state, before = (tm.normal(b, h, d, device=device) for _ in range(2))
        down, up = (tm.normal(h, r, p, device=device, scale=p**-0.5) for _ in range(2))
        gates = _gates(device, b, h)

        def want():
            x_, b_, c_, s, p_, down_, up_, a, dt, trap, skip = (t.cpu().double() for t in (x, bs, cs, state, before, down, up, *gates))  # fmt: skip
            ranks = torch.einsum("bhp,hrp->brh", x_, down_)
            bx = (ranks[..., None] * b_).sum(1)
            s = _next(s, bx, p_, a, dt, trap)
            y = (c_ * s[:, None]).sum(-1) + skip * ranks
            return torch.einsum("brh,hrp->bhp", y, up_), s, bx

        return lambda: file.mamba3_mimo_decode_triton(x, bs, cs, *gates, down, up, state.clone(), before.clone()), want  # fmt: skip

    return build


for _r in (1, 2, 8):
    repository.case(f"{FOLDER}mimo_decode.py", f"_mimo_decode_kernel_R{_r}", small=dict(b=2, h=3, p=8, d=24), production=dict(b=256, h=64, p=64, d=128), rtol=1e-4, atol=1e-4, name=f"ranks_{_r}")(_ranks(_r))  # fmt: skip
