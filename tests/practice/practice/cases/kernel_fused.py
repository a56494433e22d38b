"""triton-kernel-fused: a mixture of experts with an activation for each, routers, and attention
outputs without their own values' direction."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "IsNoobgrammer/triton-kernel-fused", "616aea4d396bd5d2db01b5e3e7d4fae76583f171"
)
OLD = "kernels/sm75/"
CLOSE = dict(rtol=1e-3, atol=1e-3)
TF32 = dict(rtol=2e-2, atol=2e-2)


def _activated(gate, code):
    if code in (2, 6, 7):
        gate = gate * torch.rsqrt(gate.square().mean(-1, keepdim=True) + 1e-6)
    if code in (1, 6):
        return gate.relu() ** 2
    return gate.tanh() * gate.sigmoid() if code == 7 else F.silu(gate)


def _experts(name, kernels, codes, small, production, close=CLOSE):
    @repository.case(
        f"{OLD}moe.py", kernels, small=small, production=production, name=name, **CLOSE
    )
    def build(file, device, m, h, i, top):
        kinds = torch.tensor(codes, device=device)
        e = len(codes)
        x, gate, down = (tm.normal(*s, device=device, scale=s[-1] ** -0.5) for s in ((m, h), (e, 2 * i, h), (e, h, i)))  # fmt: skip
        weights, ids = tm.topk_ids(m, e, top, device)
        up = tm.normal(m, h, device=device)

        def exact(x, weights, gate, down):
            out = torch.zeros_like(x)
            for k, code in enumerate(codes):
                rows, slots = (ids == k).nonzero(as_tuple=True)
                part = x[rows]
                if code != 3:
                    a, b = (part @ gate[k].T).chunk(2, -1)
                    part = (_activated(a, code) * b) @ down[k].T
                if code != 4:
                    out = out.index_add(0, rows, part * weights[rows, slots, None])
            return out

        leaves = x * h**0.5, weights, gate, down
        return (
            lambda: tm.with_gradients(lambda x, w, g, d: getattr(file, name)(x, ids, w, g, d, kinds), up, *leaves),
            lambda: tm.with_gradients(exact, up, *leaves, exact=True),
        )  # fmt: skip


_experts("moe_per_expert", "_glu_fwd_row_kernel, _glu_bwd_row_kernel, _combine_scatter_kernel, _combine_bwd_kernel", [0, 1, 2, 3, 4, 6, 7, 0], dict(m=40, h=48, i=60, top=2), dict(m=4096, h=1024, i=768, top=4))  # fmt: skip
_experts("moe_grouped", "_grouped_mm_kernel, _grouped_wgrad_kernel", [0, 1, 2, 0], dict(m=40, h=48, i=60, top=2), dict(m=4096, h=1024, i=768, top=2), TF32)  # fmt: skip


@repository.case(f"{OLD}moe.py", "_glu_fwd_kernel, _glu_bwd_kernel, _row_rms_kernel, _row_s_kernel", small=dict(m=20, i=1100), production=dict(m=8192, i=4096), **CLOSE)  # fmt: skip
def wide_glu(file, device, m, i):
    x, up = tm.normal(m, 2 * i, device=device), tm.normal(m, i, device=device)
    codes = [0, 1, 2, 6, 7]
    kinds = torch.tensor([codes[k % 5] for k in range(m)], dtype=torch.int32, device=device)

    def exact(x):
        out = 0
        for code in codes:
            a, b = x.chunk(2, -1)
            out = out + _activated(a, code) * b * (kinds == code)[:, None]
        return out

    return (
        lambda: tm.with_gradients(lambda x: file.BatchedGLU.apply(x, kinds), up, x),
        lambda: tm.with_gradients(exact, up, x, exact=True),
    )


@repository.case(f"{OLD}router.py", "_router_epilogue_fwd_kernel, _router_epilogue_bwd_kernel", small=dict(m=200, h=48, e=20, top=3), production=dict(m=16384, h=1024, e=64, top=8), **CLOSE)  # fmt: skip
def router(file, device, m, h, e, top):
    x, w, b = (tm.normal(*s, device=device) for s in ((m, h), (e, h), (e,)))
    w, up = w * h**-0.5, tm.normal(m, top, device=device)

    def exact(x, w):
        s = (x @ w.T).sigmoid()
        chosen = s.gather(1, (s.detach() + b.double()).topk(top, 1).indices)
        return chosen / chosen.sum(1, keepdim=True) * 2.5

    def run():
        counts = file.fused_mlp_router(x, w, b, top, e, routed_scaling_factor=2.5, return_counts=True)[2]  # fmt: skip
        return counts, tm.with_gradients(lambda x, w: file.fused_mlp_router(x, w, b, top, e, routed_scaling_factor=2.5)[1], up, x, w)  # fmt: skip

    def want():
        s = (x.double() @ w.double().T).sigmoid() + b.double()
        counts = s.topk(top, 1).indices.flatten().bincount(minlength=e)
        return counts, tm.with_gradients(exact, up, x, w, exact=True)

    return run, want


@repository.case(f"{OLD}router.py", "_count_experts_kernel", small=dict(m=700, e=20), production=dict(m=1 << 18, e=64))  # fmt: skip
def count_experts(file, device, m, e):
    ids = tm.integers(0, e, m, 2, device=device)
    return lambda: file._count_experts(ids, e), lambda: ids.flatten().bincount(minlength=e)


@repository.case(f"{OLD}xsa.py", "_xsa_fwd_kernel, _xsa_bwd_kernel", small=dict(b=2, h=4, hk=2, n=37, d=40), production=dict(b=4, h=32, hk=8, n=4096, d=128), **CLOSE)  # fmt: skip
def without_own_value(file, device, b, h, hk, n, d):
    y, v, up = (tm.normal(b, k, n, d, device=device) for k in (h, hk, h))

    def exact(y, v):
        v = v.repeat_interleave(h // hk, 1)
        return y - (y * v).sum(-1, keepdim=True) / v.square().sum(-1, keepdim=True) * v

    return (
        lambda: tm.with_gradients(file.FusedXSA.apply, up, y, v),
        lambda: tm.with_gradients(exact, up, y, v, exact=True),
    )
