"""DynamicConvolutionOperator: convolutions at three dilations whose weights differ for each pixel,
given or made by a product with another image."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("lartpang/DynamicConvolutionOperator", "2ebd54122706849f1a92c5d70c6fc30857446fcc")  # fmt: skip
FILE = "_triton_kernels.py"
DILATIONS = 1, 3, 5
SIZE = 3


def _convolved(x, kernels):
    """x (N, C, H, W) and the results of the three; kernels (N, 3, C, 9, H, W)."""
    n, c, h, w = x.shape
    parts = [x]
    for branch, dilation in enumerate(DILATIONS):
        patches = F.unfold(x, SIZE, dilation=dilation, padding=dilation)
        parts.append((patches.view(n, c, SIZE**2, h, w) * kernels[:, branch]).sum(2))
    return torch.cat(parts, 1)


@repository.case(FILE, "_dynamic_cat_fwd, _dynamic_cat_bwd_x, _dynamic_cat_bwd_k", small=dict(n=1, c=5, h=12, w=17), production=dict(n=2, c=64, h=96, w=96), rtol=1e-4, atol=1e-4)  # fmt: skip
def given_weights(file, device, n, c, h, w):
    x = tm.normal(n, c, h, w, device=device)
    kernels = tm.normal(n, 3, c, SIZE**2, h, w, device=device)
    upstream = tm.normal(n, 4 * c, h, w, device=device)

    def convolved(x, kernels):
        return file.fused_dynamic_cat(x, kernels, SIZE, DILATIONS)

    return (
        lambda: tm.with_gradients(convolved, upstream, x, kernels),
        lambda: tm.with_gradients(_convolved, upstream, x, kernels, exact=True),
    )


@repository.case(FILE, "_generator_dynamic_cat_fwd, _generator_dynamic_cat_bwd_x, _generator_dynamic_cat_bwd_y, _generator_dynamic_cat_bwd_weight_partial, _generator_dynamic_cat_bwd_weight_reduce", small=dict(n=1, c=16, h=128, w=132), production=dict(n=2, c=64, h=96, w=96), rtol=1e-2, atol=5e-2)  # fmt: skip
def made_weights(file, device, n, c, h, w):
    x, y = (tm.normal(n, c, h, w, device=device) for _ in range(2))
    made = 3 * c * SIZE**2
    weight = tm.normal(made, c, 1, 1, device=device, scale=c**-0.5)
    bias = tm.normal(made, device=device)
    upstream = tm.normal(n, 4 * c, h, w, device=device, scale=0.1)
    inputs = x, y, weight, bias

    def convolved(*inputs):
        return file.fused_generator_dynamic_cat(*inputs, SIZE, DILATIONS)

    def want(x, y, weight, bias):
        return _convolved(x, F.conv2d(y, weight, bias).view(n, 3, c, SIZE**2, h, w))

    return (
        lambda: tm.with_gradients(convolved, upstream, *inputs),
        lambda: tm.with_gradients(want, upstream, *inputs, exact=True),
    )
