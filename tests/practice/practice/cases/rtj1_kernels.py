"""triton-kernels by rtj1: norms and softmax of rows longer than a block, attention."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("rtj1/triton-kernels", "18a1618e4148f36ec3962d56661302358843d715")


@repository.case("03_softmax/softmax.py", "softmax_kernel_online", rtol=1e-4, atol=1e-7, small=dict(m=5, n=9000), production=dict(m=1024, n=128256))  # fmt: skip
def long_softmax(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.softmax_triton(x), lambda: x.double().softmax(-1)


@repository.case("04_layernorm/layernorm.py", "layernorm_kernel_online", rtol=1e-4, atol=1e-4, small=dict(m=5, n=9000), production=dict(m=4096, n=12288))  # fmt: skip
def long_layer_norm(file, device, m, n):
    x, weight, bias = tm.normal(m, n, device=device), *(tm.normal(n, device=device) for _ in "ab")
    return (
        lambda: file.layernorm_triton(x, weight, bias),
        lambda: tm.layer_norm(x, weight, bias, 1e-5),
    )


@repository.case("05_flash_attention/flash_attention_v2.py", "flash_attention_v2_kernel", rtol=1e-2, atol=1e-2, small=dict(b=2, h=2, n=100, d=32), production=dict(b=2, h=32, n=4096, d=128))  # fmt: skip
def attention(file, device, b, h, n, d):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(3))
    return (
        lambda: file.flash_attention_v2(q, k, v, causal=True),
        lambda: tm.attention(q, k, v, causal=True)[0],
    )
