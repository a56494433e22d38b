"""Apex: layer norm of strided inputs and attention with masks and biases, for OpenFold."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "NVIDIA/apex",
    "6424da3b4faa6c8f062da4a48c424fff3f02d42d",
    packages={"apex": "."},
    stand_ins={"einops": {"rearrange": lambda x, _: x[None]}},
)
NORM, HEADS = "apex/contrib/openfold_triton/layer_norm.py", "apex/contrib/openfold_triton/mha.py"


def _norm(strided):
    def build(file, device, a, b, c, n):
        x = tm.normal(a, b, c, n, device=device)
        x = x.transpose(1, 2) if strided else x
        w, bias = tm.normal(n, device=device), tm.normal(n, device=device)
        up = tm.normal(*x.shape, device=device)

        def run():
            leaves = [t.detach().requires_grad_() for t in (x, w, bias)]
            y = file.LayerNormSmallShapeOptImpl.apply(leaves[0], (n,), *leaves[1:], 1e-5)
            return [y.detach(), *torch.autograd.grad(y, leaves, up)]

        def right(x, w, b):
            return tm.layer_norm(x, w, b, 1e-5)

        return run, lambda: tm.with_gradients(right, up, x, w, bias, exact=True)

    return build


SMALL, LARGE = dict(a=1, b=12, c=20, n=64), dict(a=1, b=256, c=256, n=128)
repository.case(NORM, "_layer_norm_forward, _layer_norm_backward_dx, _layer_norm_backward_dw_db_partial, _layer_norm_backward_buf_reduce", small=SMALL, production=LARGE, atol=1e-3, name="layer_norm")(_norm(False))  # fmt: skip
repository.case(NORM, "_layer_norm_forward_strided, _layer_norm_backward_dx_strided, _layer_norm_backward_dw_db_partial_strided", small=SMALL, production=LARGE, atol=1e-3, name="layer_norm_strided")(_norm(True))  # fmt: skip


@repository.case(HEADS, "_attention_core", small=dict(b=3, h=4, n=64, d=16), production=dict(b=256, h=4, n=256, d=32), rtol=1e-2, atol=3e-2)  # fmt: skip
def attention(file, device, b, h, n, d):
    q, k, v = (tm.normal(b, h, n, d, device=device) for _ in range(3))
    bias = tm.normal(1, h, n, n, device=device)
    mask = (torch.rand(b, 1, 1, n) < 0.8).float().to(device)
    return lambda: file.AttnTri(q, k, v, mask, bias, 1e9, True), (
        lambda: tm.attention(q, k, v, bias=bias + (mask - 1) * 1e9)[0]
    )
