"""triton-cr: a linear layer that loads the next blocks before it multiplies."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("dtadpole/triton-cr", "61cb9d773426ddaae9d3ffe606c54eec4fb9cfea")


@repository.case("triton_linear.py", "linear_forward_kernel", small=dict(m=40, n=70, k=100), production=dict(m=2048, n=4096, k=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def linear(file, device, m, n, k):
    x = tm.normal(m, k, device=device, dtype=torch.bfloat16)
    weight = tm.normal(n, k, device=device, dtype=torch.bfloat16, scale=k**-0.5)
    return lambda: file.LinearFunction.apply(x, weight), lambda: x.double() @ weight.double().T
