"""rtp-llm: SwiGLU with limits, RoPE in place and RMS norm with RoPE of its layers."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "alibaba/rtp-llm", "4b8d39cd5cbe4eff0cf0661411e15be21ccc58b9", packages={"rtp_llm": "."}
)
LAYERS = "rtp_llm/models_py/modules/dsv4/"
SMALL, LARGE = dict(b=2, s=5, h=3, d=128), dict(b=4, s=2048, h=64, d=512)


@repository.case(LAYERS + "_silu_mul_split_triton.py", "_silu_mul_split_kernel", small=dict(m=9, n=75), production=dict(m=4096, n=4096))  # fmt: skip
def swiglu_limited(file, device, m, n):
    gate, up = (tm.normal(m, n, device=device) for _ in range(2))
    return (
        lambda: file.silu_mul_split(gate, up, 1.0),
        lambda: F.silu(gate.double().clamp(max=1)) * up.double().clamp(-1, 1),
    )


def _turned(x, angles):
    """The last axis in pairs, each turned by its angle."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    turns = torch.polar(torch.ones_like(angles, dtype=torch.float64), angles.double())
    return torch.view_as_real(pairs * turns[:, :, None]).flatten(-2)


def rope(norm):
    def build(file, device, b, s, h, d):
        half = d // 4  # the last half of each head is turned
        x = tm.normal(b, s, h, d, device=device)
        w, angles = tm.normal(d, device=device), tm.normal(b, s, half, device=device)
        turns = torch.polar(torch.ones_like(angles), angles).flatten(0, 1)

        def run():
            out = x.clone()
            if norm:
                return file.fused_rmsnorm_rope(out, w, turns, 2 * half)
            file.rope_only_inplace(out[..., -2 * half :], turns)
            return out

        def want():
            y = tm.rms_norm(x, w, 1e-6) if norm else x.double()
            return torch.cat([y[..., : -2 * half], _turned(y[..., -2 * half :], angles)], -1)

        return run, want

    return build


repository.case(LAYERS + "_rope_only_triton.py", "_rope_only_kernel", small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4, name="rope_in_place")(rope(False))  # fmt: skip
repository.case(LAYERS + "_fused_rmsnorm_rope_triton.py", "_fused_rmsnorm_rope_kernel", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-3, name="rms_norm_rope")(rope(True))  # fmt: skip
