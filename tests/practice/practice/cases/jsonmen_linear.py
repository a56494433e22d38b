"""jsonmen's linear layers, one for each type."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("jsonmen/triton-kernels", "e407f8d8c4607c3bb00caa4d15f17736d8687a2f", folders=("linear",))  # fmt: skip
SMALL, PRODUCTION = dict(m=70, n=90, k=100), dict(m=4096, n=4096, k=4096)


def _case(function, device, m, n, k, dtype):
    x = tm.normal(m, k, device=device, dtype=dtype)
    weight = tm.normal(n, k, device=device, dtype=dtype, scale=k**-0.5)
    return lambda: function(x, weight), lambda: x.double() @ weight.double().T


@repository.case("linear/linear_int8.py", "linearint8_kernel", small=SMALL, production=PRODUCTION, rtol=0, atol=0)  # fmt: skip
def linear_int8(file, device, m, n, k):
    x, weight = (tm.integers(-128, 128, r, k, device=device, dtype=torch.int8) for r in (m, n))
    return lambda: file.linear_int8(x, weight), lambda: x.double() @ weight.double().T


@repository.case("linear/linear_tf32.py", "lineartf32_kernel", small=SMALL, production=PRODUCTION, rtol=1e-2, atol=5e-3)  # fmt: skip
def linear_tf32(file, device, m, n, k):
    return _case(file.linear_tf32, device, m, n, k, torch.float32)


@repository.case("linear/linear_bf16.py", "linearbf16_kernel", small=SMALL, production=PRODUCTION, rtol=1e-2, atol=2e-2)  # fmt: skip
def linear_bf16(file, device, m, n, k):
    return _case(file.linear_bf16, device, m, n, k, torch.bfloat16)


@repository.case("linear/linear_fp16.py", "linearfp16_kernel", small=SMALL, production=PRODUCTION, rtol=1e-2, atol=1e-2)  # fmt: skip
def linear_fp16(file, device, m, n, k):
    return _case(file.linear_fp16, device, m, n, k, torch.float16)
