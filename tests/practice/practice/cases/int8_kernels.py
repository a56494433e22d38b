"""INT8_Triton_Kernels: quantisation by one scale, and by one of each column, with a transpose."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "chinmaydk99/INT8_Triton_Kernels", "14c97c735ef76d34081c4d697f241578d2a5667f"
)


@repository.case("int8_columnwise_quant_transpose.py", "quant_columnwise_kernel", rtol=1e-3, atol=1e-3, share=1e-3, small=dict(m=150, n=70), production=dict(m=4096, n=4096))  # fmt: skip
def columns(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def want():
        most = x.double().abs().amax(0)
        return (127 * x.double() / most).round().T, most

    return lambda: file.quant_columnwise_transpose(x), want


@repository.case("int8_global_quantize.py", "int8_quantize_global", rtol=0, atol=0, share=1e-3, small=dict(m=50, n=70), production=dict(m=8192, n=4096))  # fmt: skip
def all_at_once(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def want():
        most = x.double().abs().max()
        return (127 * x.double() / most).round(), most[None]

    return lambda: file.quantize_global(x), want
