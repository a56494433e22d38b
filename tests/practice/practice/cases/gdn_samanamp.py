"""gated-delta-network-kernel: a step of the gated delta rule for each head."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("samanamp/gated-delta-network-kernel", "e5e47c653633de90d5f4237a0be870569c482e0e")  # fmt: skip
BF16 = torch.bfloat16


@repository.case("solution/triton/kernel.py", "gdn_kernel", small=dict(b=2, hq=2, hv=4, d=32), production=dict(b=128, hq=4, hv=8, d=128), rtol=1e-2, atol=1e-3)  # fmt: skip
def decode(file, device, b, hq, hv, d):
    q, k = (F.normalize(torch.randn(b, 1, hq, d), dim=-1).to(BF16).to(device) for _ in range(2))
    v, state = tm.normal(b, 1, hv, d, device=device, dtype=BF16), tm.normal(b, hv, d, d, device=device)  # fmt: skip
    decay, a, rate = tm.normal(hv, device=device), tm.normal(b, 1, hv, device=device, dtype=BF16), tm.normal(b, 1, hv, device=device, dtype=BF16)  # fmt: skip
    bias = tm.normal(hv, device=device)

    def run():
        out, new = torch.empty_like(v), torch.empty_like(state)
        return file.tritonGDN(q, k, v, state, decay, a, bias, rate, d**-0.5, out, new)

    def want():
        left, right = (x[:, 0].double().repeat_interleave(hv // hq, 1) for x in (q, k))
        gate = torch.exp(-decay.double().exp() * F.softplus(a[:, 0].double() + bias.double()))
        s = state.double() * gate[..., None, None]
        old = (s @ right[..., None])[..., 0]
        delta = rate[:, 0].double().sigmoid()[..., None] * (v[:, 0].double() - old)
        s = s + delta[..., None] * right[..., None, :]
        return (s @ left[..., None])[:, None, ..., 0] * d**-0.5, s

    return run, want
