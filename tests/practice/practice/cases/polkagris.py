"""polkagris: attention, softmax, and a layer norm before a product of torch's."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "poyea/polkagris",
    "005d4eb25d244dd5be5d6c8b784cb43e4ffd67a7",
    packages={"triton_kernels": ""},
    stand_ins={"polkagris": {}},
)
HALF = torch.float16


@repository.case("triton_kernels/tiled_attention.py", "attention_kernel", small=dict(heads=3, n=150, d=32), production=dict(heads=16, n=4096, d=64), rtol=1e-2, atol=1e-2)  # fmt: skip
def attention(file, device, heads, n, d):
    q, k, v = (tm.normal(heads, n, d, device=device, dtype=HALF) for _ in range(3))
    return (
        lambda: file.tiled_attention(q, k, v),
        lambda: tm.attention(q, k, v, causal=True)[0],
    )


@repository.case("triton_kernels/softmax.py", "softmax_kernel", small=dict(m=20, n=700), production=dict(m=8192, n=4096), rtol=5e-3, atol=1e-4)  # fmt: skip
def softmax(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=HALF)
    return lambda: file.triton_softmax(x), lambda: x.double().softmax(-1)


@repository.case("triton_kernels/layernorm_linear.py", "layernorm_kernel", small=dict(m=20, n=700, k=50), production=dict(m=16384, n=4096, k=1024), rtol=1e-2, atol=2e-2)  # fmt: skip
def norm_and_layer(file, device, m, n, k):
    x, weight, bias = (tm.normal(*s, device=device, dtype=HALF) for s in ((m, n), (n,), (n,)))
    w, b = tm.normal(k, n, device=device, dtype=HALF, scale=n**-0.5), tm.normal(k, device=device)
    return (
        lambda: file.layernorm_linear(x, weight, bias, w, b.half()),
        lambda: tm.layer_norm(x, weight, bias, 1e-5) @ w.double().T + b.double(),
    )
