"""cuda-triton-multiarch: products with weights of 8 and 4 bits, restored as they are loaded."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("syedMohib44/cuda-triton-multiarch", "836aefb67604f2750248c786e05877005637c76b")  # fmt: skip
SIZES = dict(small=dict(m=64, n=128, k=256), production=dict(m=4096, n=4096, k=4096))


def _case(bits):
    def build(file, device, m, n, k):
        x, w = tm.normal(m, k, device=device, dtype=torch.float16), tm.normal(k, n, device=device, scale=k**-0.5)  # fmt: skip
        quantise, restore, product = (getattr(file, f) for f in (f"quantize_int{bits}", f"dequantize_int{bits}", f"matmul_int{bits}_triton"))  # fmt: skip
        weights = quantise(w)
        return lambda: product(x, *weights), lambda: x.double() @ restore(*weights).double()

    repository.case("kernels/quantized_matmul.py", f"matmul_int{bits}_kernel", rtol=1e-2, atol=1e-2, name=f"int{bits}_product", **SIZES)(build)  # fmt: skip


_case(8)
_case(4)
