"""Quartet: rotated by Hadamard matrices, then rounded to MXFP4."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("IST-DASLab/Quartet", "00ccd38e544ac5fd56b7837844a427114b884ef8")
FILE = "src/models/quantization/quantizers/mxfp4_triton.py"
SIZES = dict(small=dict(n=128, k=64), production=dict(n=8192, k=8192))


def _hadamard(n):
    h = torch.ones(1, 1)
    while len(h) < n:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
    return h * n**-0.5


def _case(name, dtype, **options):
    def build(file, device, n, k):
        x, h = tm.normal(n, k, device=device, dtype=dtype), _hadamard(32).to(dtype).to(device)

        def want():
            return (x.double().view(-1, 32) @ h.double()).view(n, k)

        def run():
            return file.mxfp4_forward_kernel_wrapper(x, h, True, **options)[0]

        return run, want

    # As far as the rounding to four bits goes, of the largest element of a group.
    repository.case(FILE, "mxfp4_forward_kernel", rtol=0.35, atol=1.1, share=0.05, name=name, **SIZES)(build)  # fmt: skip


_case("quest", torch.bfloat16, gaussian_scale=2.92247856 / 6)
_case("largest", torch.float32, quest=False)
_case("stochastic", torch.bfloat16, quest=False, stochastic_round=True)
