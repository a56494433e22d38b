"""Lit-LLaMA: products with weights of 4 bits, with a scale and a zero for each row."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Lightning-AI/lit-llama",
    "2a464de2a1d2f266614d15091d3d7f30330c3ede",
    stand_ins={"bitsandbytes": {}},
)


@repository.case("lit_llama/quantization.py", "linear_kernel_4bit_weight", rtol=1e-2, atol=5e-2, small=dict(m=40, n=256, k=96), production=dict(m=512, n=11008, k=4096))  # fmt: skip
def linear_4bit(file, device, m, n, k):
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    values = tm.integers(0, 16, n, k, device=device)
    packed = (values[:, ::2] | values[:, 1::2] << 4).to(torch.uint8)
    scales = torch.rand(n, 1).to(device) * k**-0.5
    zeros = torch.rand(n, 1).to(device) * 15

    def want():
        return x.double() @ ((values - zeros.double()) * scales.double()).T

    return lambda: file.qlinear_4bit_weight(x, packed, scales, zeros), want
