"""LASP: linear attention with decay, whose state goes from one GPU to the next."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("OpenNLPLab/LASP", "13f320a2d3e47aab240fc9816d8f7f81cf2fb378", packages={"lasp": "."}, stand_ins={"lasp.utils": {}})  # fmt: skip
SIZES = dict(small=dict(b=2, h=2, n=128, d=64), production=dict(b=4, h=16, n=4096, d=64))


def _inputs(device, b, h, n, d):
    q, k, v, up = (tm.normal(b, h, n, d, device=device, dtype=torch.bfloat16, scale=0.5) for _ in range(4))  # fmt: skip
    return q, k, v, up, (torch.rand(h, 1, 1) * 0.1 + 0.02).to(device)


def _decayed(q, k, v, s):
    n = q.shape[2]
    i = torch.arange(n, device=q.device)
    distance = (i[:, None] - i).double()
    decay = (-s.double() * distance).exp().masked_fill(distance < 0, 0)
    return (q @ k.transpose(-1, -2) * decay) @ v


def _case(backward):
    def build(file, device, b, h, n, d):
        q, k, v, up, s = _inputs(device, b, h, n, d)
        state, later = tm.normal(b, h, d, d, device=device), torch.zeros(b, h, d, d, device=device)

        def forward():
            return file.lasp_forward(q, k, v, s, state.clone())

        def gradients():
            return file.lasp_backward(q, k, v, s, up, torch.zeros_like(state), later.clone())

        def want():
            i = torch.arange(n, device=device).double()[:, None]
            given = q.double() @ state.double() * (-s.double() * i).exp()
            return _decayed(q.double(), k.double(), v.double(), s) + given

        def right():
            return tm.with_gradients(lambda *x: _decayed(*x, s), up.double(), q, k, v, exact=True)[1:]  # fmt: skip

        return (gradients, right) if backward else (forward, want)

    name = "fused" + "_gradient" * backward
    repository.case("lasp/lasp_fuse.py", "_bwd_kernel" if backward else "_fwd_kernel", rtol=3e-2, atol=0.15, share=2e-3, name=name, **SIZES)(build)  # fmt: skip


_case(False)
_case(True)


@repository.case("lasp/lightning_attention.py", "_fwd_kernel, _bwd_intra_kernel, _bwd_inter_kernel", rtol=3e-2, atol=0.15, share=2e-3, small=SIZES["small"], production=dict(b=4, h=16, n=4096, d=128))  # fmt: skip
def lightning(file, device, b, h, n, d):
    q, k, v, up, s = _inputs(device, b, h, n, d)
    return (
        lambda: tm.with_gradients(lambda *x: file.LightningAttention.apply(*x, s), up, q, k, v),
        lambda: tm.with_gradients(lambda *x: _decayed(*x, s), up.double(), q, k, v, exact=True),
    )
