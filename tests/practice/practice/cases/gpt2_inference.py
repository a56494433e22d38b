"""gpt2-inference-optimization: GELU and layer norm."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("SarnadAbhilash/gpt2-inference-optimization", "778049fd83e4cd0eb0d3897757c63ba2cf2d9ca0")  # fmt: skip
HALF = torch.float16


@repository.case("kernels/gelu.py", "_gelu_fwd", small=dict(n=3000), production=dict(n=1 << 25), rtol=2e-3, atol=1e-3)  # fmt: skip
def gelu(file, device, n):
    x = tm.normal(n, device=device, dtype=HALF, scale=2.0)
    return lambda: file.gelu(x), lambda: F.gelu(x.double(), approximate="tanh")


@repository.case("kernels/layernorm.py", "_layernorm_fwd", small=dict(m=20, n=768), production=dict(m=16384, n=1600), rtol=2e-3, atol=4e-3)  # fmt: skip
def layer_norm(file, device, m, n):
    x, weight, bias = (tm.normal(*s, device=device, dtype=HALF) for s in ((m, n), (n,), (n,)))
    return (
        lambda: file.layernorm(x, weight, bias),
        lambda: tm.layer_norm(x, weight, bias, 1e-5),
    )
