"""A step of the gated delta rule for the FlashInfer competition, with pointers and with descriptors
of tensors made in the kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "tomasruizt/flashinfer-competition-codebase",
    "5418a3d732db3c2c7531ba7c44d3d450c1039077",
    stand_ins={"flashinfer.gdn_decode": {}},
)
FILE = "solution/triton/kernel.py"
SMALL, PRODUCTION = dict(b=3, heads=2, v_heads=4), dict(b=256, heads=4, v_heads=8)


def _case(file, device, b, heads, v_heads, function):
    d = 128
    q, k = (F.normalize(tm.normal(b, 1, heads, d, device=device), dim=-1).bfloat16() for _ in "qk")
    v = tm.normal(b, 1, v_heads, d, device=device, dtype=torch.bfloat16)
    state = tm.normal(b, v_heads, d, d, device=device)
    decay, bias = (tm.normal(v_heads, device=device) for _ in range(2))
    a, gate = (tm.normal(b, 1, v_heads, device=device, dtype=torch.bfloat16) for _ in range(2))

    def run():
        out, after = torch.empty_like(v), torch.empty_like(state)
        getattr(file, function)(q, k, v, state, decay, a, bias, gate, None, out, after)
        return out, after

    def want():
        keys, queries = (
            x[:, 0].double().repeat_interleave(v_heads // heads, 1)[:, :, None] for x in (k, q)
        )
        factor = torch.exp(-decay.double().exp() * F.softplus(a[:, 0].double() + bias.double()))
        s = state.double() * factor[..., None, None]
        change = v[:, 0].double() - (s * keys).sum(-1)
        s = s + (gate[:, 0].double().sigmoid()[..., None] * change)[..., None] * keys
        return (s * queries).sum(-1)[:, None] / d**0.5, s

    return run, want


@repository.case(FILE, "fused_recurrent_gated_delta_rule_fwd_kernel", small=SMALL, production=PRODUCTION, rtol=1e-2, atol=1e-3)  # fmt: skip
def step(file, device, b, heads, v_heads):
    return _case(file, device, b, heads, v_heads, "kernel_fla_recurrent")


@repository.case(FILE, "fused_recurrent_gated_delta_rule_tma_kernel", small=SMALL, production=PRODUCTION, rtol=1e-2, atol=1e-3)  # fmt: skip
def step_with_descriptors(file, device, b, heads, v_heads):
    return _case(file, device, b, heads, v_heads, "kernel_fla_tma")
