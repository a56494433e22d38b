"""ViT in Triton: embedding of patches, layer norm, softmax, and batched products of attention."""

from __future__ import annotations

import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("cmeraki/vit.triton", "55c80ab2985be2b31e7204f69ab2e804829fa2bb", packages={"vit": "."})  # fmt: skip
FOLDER = "vit/kernels/"


@repository.case(FOLDER + "conv2d.py", "conv2d_kernel", rtol=1e-4, atol=1e-3, small=dict(b=2, channels=3, side=24, kernels=5, patch=8), production=dict(b=8, channels=3, side=224, kernels=768, patch=16))  # fmt: skip
def embedding_of_patches(file, device, b, channels, side, kernels, patch):
    x = tm.normal(b, channels, side, side, device=device)
    weight = tm.normal(kernels, channels, patch, patch, device=device)
    bias = tm.normal(kernels, device=device)
    return (
        lambda: file.conv2d_triton(x, weight, bias),
        lambda: F.conv2d(x.double(), weight.double(), bias.double(), stride=patch),
    )


@repository.case(FOLDER + "layernorm.py", "layernorm_kernel", rtol=1e-4, atol=1e-4, small=dict(b=2, t=5, d=200), production=dict(b=64, t=197, d=768))  # fmt: skip
def layer_norm(file, device, b, t, d):
    x = tm.normal(b, t, d, device=device)
    weight, bias = tm.normal(d, device=device), tm.normal(d, device=device)
    return (
        lambda: file.layernorm_triton(x, weight, bias, 1e-5),
        lambda: tm.layer_norm(x, weight, bias, 1e-5),
    )


@repository.case(FOLDER + "softmax.py", "softmax_kernel", rtol=1e-4, atol=1e-6, small=dict(b=3, t=19, s=23), production=dict(b=768, t=197, s=197))  # fmt: skip
def softmax(file, device, b, t, s):
    x = tm.normal(b, t, s, device=device, scale=3.0)
    return lambda: file.softmax_triton(x), lambda: x.double().softmax(-1)


@repository.case(FOLDER + "matmul3.py", "matmul_kernel", rtol=1e-2, atol=2e-2, small=dict(b=2, m=19, n=33, k=40), production=dict(b=64, m=197, n=768, k=768))  # fmt: skip
def scaled_product(file, device, b, m, n, k):
    x, y = tm.normal(b, m, k, device=device), tm.normal(b, k, n, device=device)
    scale = k**-0.5
    return (
        lambda: file.matmul_triton(x, y, apply_scaling=True, scale_factor=scale),
        lambda: x.double() @ y.double() * scale,
    )
