"""FastFold: softmax with a mask and a bias of pairs, one or two rows a program; layer norm."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("hpcaitech/FastFold", "eba496808a91bbcd9661cf832349a418b197015f")
FOLDER = "fastfold/model/fastnn/kernel/triton/"
BF16 = torch.bfloat16
HALF = dict(rtol=2e-2, atol=1e-2)
PAIRS = "softmax_mask_bias_kernel", "softmax_grad_kernel"

for _rows, _small, _large in (("", dict(b=3, h=2, n=150), dict(b=128, h=8, n=384)), ("_two_rows", dict(b=3, h=2, n=50), dict(b=512, h=8, n=128))):  # fmt: skip

    @repository.case(FOLDER + "softmax.py", f"_softmax_core, {PAIRS[0]}{_rows}", small=_small, production=_large, name="softmax" + _rows, **HALF)  # fmt: skip
    def softmax(file, device, b, h, n):
        x, bias = (tm.normal(1, m, h, n, n, device=device, dtype=BF16) for m in (b, 1))
        mask = (torch.rand(1, b, n) < 0.9).to(BF16).to(device)

        def want():
            s = (x.double() + bias.double()).masked_fill(mask[:, :, None, None] == 0, -1e20)
            return s.softmax(-1)

        return lambda: file.softmax_triton_kernel_wrapper(x, mask, bias, b * h * n, n), want

    @repository.case(FOLDER + "softmax.py", f"_softmax_grad_core, {PAIRS[1]}{_rows}", small=_small, production=_large, name="softmax_gradient" + _rows, **HALF)  # fmt: skip
    def softmax_gradient(file, device, b, h, n):
        y = torch.randn(1, b, h, n, n).softmax(-1).to(BF16).to(device)
        dy = tm.normal(1, b, h, n, n, device=device, dtype=BF16)

        def want():
            p, g = y.double(), dy.double()
            return p * (g - (p * g).sum(-1, keepdim=True))

        return lambda: file.softmax_grad_triton_kernel_wrapper(dy, y, b * h * n, n), want


@repository.case(FOLDER + "layer_norm.py", "_layer_norm_fwd_fused, _layer_norm_bwd_dx_fused, _layer_norm_bwd_dwdb", small=dict(m=70, n=128), production=dict(m=384 * 384, n=128), rtol=1e-3, atol=2e-3)  # fmt: skip
def layer_norm_with_gradients(file, device, m, n):
    x, dy = (tm.normal(m, n, device=device) for _ in range(2))
    w, b = (tm.normal(n, device=device) for _ in range(2))

    def fused(x, w, b):
        return file.LayerNormTritonFunc.apply(x, (n,), w, b, 1e-5)

    return (
        lambda: tm.with_gradients(fused, dy, x, w, b),
        lambda: tm.with_gradients(lambda *a: tm.layer_norm(*a, 1e-5), dy, x, w, b, exact=True),
    )
