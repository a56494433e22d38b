"""TetraJet: rounding to floating-point formats of any number of bits."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("thu-ml/TetraJet-MXFP4Training", "bbe9bd67a32bee254f630d34a5a25f5e9b491f56")


def _parts(x, e, m):
    x = x.double()
    exponent = x.abs().log2().floor().clamp(2 - 2 ** (e - 1), 2 ** (e - 1))
    mantissa = x.abs() / 2**exponent
    return x.sign() * 2**exponent, mantissa.floor(), (mantissa - mantissa.floor()) * 2**m


for _e, _m in ((2, 1), (4, 3), (1, 2)):

    @repository.case("quantization/QuantizerFP_triton.py", "_floatExMy_quantize_kernel", small=dict(n=3000), production=dict(n=1 << 25), name=f"rounded_e{_e}m{_m}")  # fmt: skip
    def rounded(file, device, n, e=_e, m=_m):
        x = tm.normal(n, device=device, dtype=torch.bfloat16 if e == 4 else torch.float32)

        def want():
            scale, whole, part = _parts(x, e, m)
            return scale * (whole + (part + 0.5).floor() / 2**m)

        return lambda: file.floatExMy_quantize_triton(x, e, m, False), want


@repository.case("quantization/QuantizerFP_triton.py", "_floatExMy_quantizeEMA_kernel", small=dict(n=3000), production=dict(n=1 << 25))  # fmt: skip
def rounded_as_average(file, device, n):
    x = tm.normal(n, device=device)
    average = x + tm.normal(n, device=device, scale=0.2)

    def want():
        scale, whole, part = _parts(x, 2, 1)
        signed = (average.double() * x.sign() / scale.abs() - whole) * 2
        return scale * (whole + (part.floor() + (signed >= part.floor() + 0.5)) / 2)

    return lambda: file.floatExMy_quantizeEMA_triton(x, average, 2, 1), want
