"""multitokenatention_triton: depthwise convolutions of attention scores, and their gradients."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Gusanidas/multitokenatention_triton", "f2d64d8e2c5b000aa18db045b2946e8f5426dd1f")  # fmt: skip


@repository.case("convolution_2d_trit.py", "conv_fwd_kernel, conv_bwd_input_kernel, conv_bwd_weight_kernel", small=dict(b=1, c=2, h=40, w=50, r=3, s=5), production=dict(b=2, c=16, h=1024, w=1024, r=3, s=5), rtol=1e-3, atol=1e-3)  # fmt: skip
def convolved(file, device, b, c, h, w, r, s):
    x, weight = tm.normal(b, c, h, w, device=device), tm.normal(c, r, s, device=device)
    out = tm.normal(b, c, h, w, device=device)
    return (
        lambda: tm.with_gradients(
            lambda x, weight: file.Conv2dTritonFunction.apply(x, weight, False), out, x, weight
        ),
        lambda: tm.with_gradients(
            lambda x, weight: file.pytorch_conv(x, weight[:, None]), out, x, weight, exact=True
        ),
    )
