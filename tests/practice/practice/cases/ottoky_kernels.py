"""OttoKy's triton-kernels: softmax and layer norm in one pass for the sums, by tiles or at once."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("OttoKy/triton-kernels", "7665cc55d13cd35bad46dbb26b8f4363077cea05")
HALF = torch.float16


@repository.case("activations/softmax.py", "softmax_kernel", small=dict(m=5, n=5000), production=dict(m=4096, n=16384), rtol=5e-3, atol=1e-5)  # fmt: skip
def softmax(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=HALF, scale=3.0)
    return lambda: file.softmax(x), lambda: x.double().softmax(-1)


@repository.case("normalization/LayerNorm.py", "layerNorm_kernel", small=dict(m=5, n=3000), production=dict(m=8192, n=8192), rtol=2e-3, atol=4e-3)  # fmt: skip
def layer_norm(file, device, m, n):
    x, weight, bias = (tm.normal(*s, device=device, dtype=HALF) for s in ((m, n), (n,), (n,)))
    return (
        lambda: file.layernorm(x, weight, bias),
        lambda: tm.layer_norm(x, weight, bias, 1e-5),
    )
