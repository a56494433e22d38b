"""yapuny: a linear layer with GELU, and scores that are scaled, masked and normalised."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ketjandr/yapuny", "58f41d6495e10c4a82f8a94b1c3b6c65c07c8493")


@repository.case("kernels/fused_linear_gelu.py", "_fused_linear_gelu_kernel", small=dict(m=90, n=70, k=100), production=dict(m=8192, n=4096, k=1024), rtol=1e-2, atol=2e-2)  # fmt: skip
def linear_gelu(file, device, m, n, k):
    x = tm.normal(m, k, device=device, dtype=torch.bfloat16)
    weight = tm.normal(n, k, device=device, dtype=torch.bfloat16, scale=k**-0.5)
    bias = tm.normal(n, device=device, dtype=torch.bfloat16)

    def want():
        return F.gelu(x.double() @ weight.double().T + bias.double(), approximate="tanh")

    return lambda: file.fused_linear_gelu(x, weight, bias), want


@repository.case("kernels/fused_scale_mask_softmax.py", "_fused_scale_mask_softmax_kernel", small=dict(b=2, heads=2, t=50), production=dict(b=2, heads=12, t=2048), rtol=1e-4, atol=1e-6)  # fmt: skip
def scaled_masked_softmax(file, device, b, heads, t):
    scores = tm.normal(b, heads, t, t, device=device, scale=8)
    mask = torch.tril(torch.ones(1, 1, t, t)).to(device)

    def want():
        return (scores.double() * 0.125).masked_fill(mask == 0, float("-inf")).softmax(-1)

    return lambda: file.fused_scale_mask_softmax(scores, mask, 0.125), want
