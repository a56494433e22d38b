"""triton_kernels by kyleliang919: attention by the geometric mean of two softmaxes."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import PYTEST, Repository

repository = Repository(
    "kyleliang919/triton_kernels", "64d3e91d39cb184e378d72fcb2317b0ecc453c73", stand_ins=PYTEST
)


@repository.case("attention_square.py", "_fwd_kernel", rtol=1e-2, atol=1e-2, small=dict(b=1, h=2, n=256, d=32), production=dict(b=2, h=16, n=4096, d=64))  # fmt: skip
def two_softmaxes(file, device, b, h, n, d):
    q, r, k, v = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(4))

    def want():
        hidden = torch.ones(n, n, device=device, dtype=torch.bool).triu(1)
        p = [
            (x.double() @ k.double().transpose(-1, -2) * d**-0.5)
            .masked_fill(hidden, -torch.inf)
            .softmax(-1)
            for x in (q, r)
        ]
        return (p[0] * p[1]).sqrt() @ v.double()

    return lambda: file.attention_sq(q, r, k, v, True, d**-0.5), want
