"""wind_rwkv: RWKV-7 in chunks of 16 steps, with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("johanwind/wind_rwkv", "d1d85d9d0d014a2af54caf6c324a5131a10e5b7e")
BF16 = torch.bfloat16


def _steps(q, w, k, v, a, b):
    state, out = torch.zeros(q.shape[0], q.shape[2], q.shape[3], q.shape[3], dtype=q.dtype), []
    state, decay = state.to(q.device), (-w.exp()).exp()
    for t in range(q.shape[1]):
        fed = torch.einsum("bhij,bhj->bhi", state, a[:, t])
        state = state * decay[:, t, :, None, :]
        state = state + fed[..., None] * b[:, t, :, None, :] + v[:, t, ..., None] * k[:, t, :, None, :]  # fmt: skip
        out.append(torch.einsum("bhij,bhj->bhi", state, q[:, t]))
    return torch.stack(out, 1)


for _dots, _limit in (("fp32", 2e-2), ("bf16", 6e-2)):

    @repository.case("wind_rwkv/rwkv7/triton_bighead.py", "fw_attn_triton, bw_attn_triton, tri_minv, tl_dot, IND3, IND4, IND5, _prod", small=dict(b=1, t=32, h=2, c=32), production=dict(b=2, t=1024, h=8, c=64), rtol=_limit, atol=_limit, name=f"heads_{_dots}")  # fmt: skip
    def heads(file, device, b, t, h, c, dots=_dots):
        q, k, v, up = (tm.normal(b, t, h, c, device=device, dtype=BF16, scale=0.5) for _ in range(4))  # fmt: skip
        w = tm.normal(b, t, h, c, device=device, dtype=BF16) - 2
        direction = torch.nn.functional.normalize(torch.randn(b, t, h, c), dim=-1)
        a, fed = (-direction).to(BF16).to(device), (direction * torch.rand(b, t, h, c)).to(BF16).to(device)  # fmt: skip
        inputs = q, w, k, v, a, fed
        return (
            lambda: tm.with_gradients(lambda *x: file.attn_triton_bighead(*x, dot_prec=dots)[0], up, *inputs),
            lambda: tm.with_gradients(_steps, up, *inputs, exact=True),
        )  # fmt: skip
