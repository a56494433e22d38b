"""triton-kernels by kartiksrinivas007: attention by tensor descriptors, linear and with softmax."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "kartiksrinivas007/triton-kernels", "c882b74fd1715fd1eea50cb9dbe2209aa6ddc8bc"
)


@repository.case("kernels/linear_attn.py", "linear_attn_fwd_wrapper_kernel", rtol=1e-2, atol=1e-1, small=dict(b=1, h=2, n=96, d=32), production=dict(b=2, h=16, n=2048, d=64))  # fmt: skip
def linear(file, device, b, h, n, d):
    q, k, v = (tm.normal(b, h, n, d, device=device) for _ in range(3))
    v = v * n**-0.5

    def want():
        inner = k.double().transpose(-1, -2) @ v.double()
        return q.double() @ inner * d**-0.5

    return lambda: file.LinearAttention.apply(q, k, v), want
