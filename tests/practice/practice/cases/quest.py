"""QuEST: rows in 4 bits with the scale that suits normal values, and what their products mean."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "IST-DASLab/QuEST",
    "c295afda142c03a89d2af04653881beccf459aa1",
    folders=("gemm-quest/benchmarks",),
    stand_ins={"fast_hadamard_transform": {}, "quest": {}},
)
FILE = "gemm-quest/benchmarks/utils.py"
BF16 = torch.bfloat16
SIZES = dict(small=dict(m=32, n=768), production=dict(m=8192, n=8192))


@repository.case(FILE, "find_scale_int4_triton_kernel", rtol=1e-2, atol=0, **SIZES)
def scales(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)
    return (
        lambda: file.find_scale_int4(x),
        lambda: x.double().square().mean(-1, keepdim=True).sqrt() * 2.513930578568423 * 2 / 15,
    )


@repository.case(FILE, "quantize_int4_triton_kernel", rtol=1e-2, atol=1e-6, **SIZES)
def quantised(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)
    scales = (torch.rand(m, 1) * 0.2 + 0.3).to(BF16).to(device)

    def run():
        out, packed = torch.empty_like(x, dtype=torch.int8), torch.empty(m, n // 2, dtype=torch.uint8, device=device)  # fmt: skip
        sums = torch.empty(m, 1, dtype=torch.int32, device=device)
        return file.quantize_int4(x.clone(), scales, out, packed, sums, True)

    def want():
        values = (x.float() / scales.float()).floor().clamp(-8, 7)
        low, high = (values[:, i::2].long() & 15 for i in range(2))
        meaning = (values.double() + 0.5) * scales.double()
        return meaning, values, high << 4 | low, values.sum(-1, keepdim=True)

    return run, want


@repository.case(FILE, "add_mul_vv_triton_kernel", rtol=1e-2, atol=1e-3, **SIZES)
def meaning_of_products(file, device, m, n):
    a_sum, b_sum = (tm.integers(-500, 500, s, 1, device=device, dtype=torch.int32) for s in (m, n))
    a_scale, b_scale = (torch.rand(s, 1).to(BF16).to(device) for s in (m, n))
    products = tm.integers(-5000, 5000, m, n, device=device, dtype=torch.int32)
    return (
        lambda: file.add_mul_vv(a_sum, a_scale, b_sum, b_scale, products),
        lambda: (
            (products.double() * 2 + a_sum + b_sum.T) * (a_scale.double() * b_scale.double().T / 2)
        ),  # fmt: skip
    )
