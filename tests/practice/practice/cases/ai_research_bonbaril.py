"""AI_Research: weights of three values, four in a byte, times activations in 8 bits."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("MiloBonbaril/AI_Research", "250eeb4d9718d7bdd626e9265618ba22e034fc96")


# The values in 8 bits are not rounded, but to float16.
@repository.case("models/triton_kernels.py", "_rowwise_absmax_kernel, _ternary_mm_kernel", small=dict(m=40, n=70, k=200), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def times_ternary_weights(file, device, m, n, k):
    x = tm.normal(m, k, device=device)
    codes = tm.integers(0, 3, n, k // 4, 4, device=device, dtype=torch.uint8)
    packed = sum(codes[..., i] << (2 * i) for i in range(4)).flatten()

    def want():
        return x.double() @ (codes.flatten(1).double() - 1).T / 8

    return lambda: file.ternary_matmul(x, packed, 0.125, n, k), want
