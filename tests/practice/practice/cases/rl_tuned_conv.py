"""A convolution whose block sizes an agent chooses."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("MubaiHua/CS-259-RL-Train-Triton", "dc9a52bd43d0f12a89f94fa76cbc4725e01c4148")  # fmt: skip
FILE = "triton_kernels.py"


@repository.case(FILE, "conv2d_nchw_kernel", rtol=1e-2, atol=1e-2, small=dict(n=2, c=20, side=11, out=24, k=3, stride=2), production=dict(n=16, c=128, side=56, out=256, k=3, stride=1))  # fmt: skip
def convolution(file, device, n, c, side, out, k, stride):
    x = tm.normal(n, c, side, side, device=device, dtype=torch.float16)
    weight = tm.normal(out, c, k, k, device=device, dtype=torch.float16, scale=(c * k * k) ** -0.5)
    after = (side + 2 - k) // stride + 1

    def run():
        y = torch.empty(n, out, after, after, device=device, dtype=torch.float16)
        blocks = -(-out // 32) * -(-after // 8) * -(-after // 8)
        file.conv2d_nchw_kernel[(n * blocks,)](
            x, weight, y, n, c, side, side, out, stride, stride, 1, 1, k, k, after, after,
            *x.stride(), *weight.stride(), *y.stride(), 8, 8, 16, 32, 4, 2,
        )  # fmt: skip
        return y

    return run, lambda: F.conv2d(x.double(), weight.double(), stride=stride, padding=1)
