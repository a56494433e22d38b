"""HALO: the 8-bit values of a whole matrix, as it is and transposed."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "IST-DASLab/HALO",
    "d8c1dc9b669ba80fcc95f1e5ff0fde301604a65a",
    packages={"qllmt": "."},
)
FILE = "qllmt/functional/triton_quant.py"
SIZES = dict(small=dict(m=150, n=200), production=dict(m=16384, n=8192))


def _want(x):
    scale = x.double().abs().max() / 127
    return (x.double() / scale).round(), scale[None]


@repository.case(FILE, "_quantize_global", rtol=1e-5, atol=1e-6, share=1e-4, **SIZES)
def quantised(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.quantize_global(x), lambda: _want(x)


@repository.case(FILE, "_quantize_global_transpose", rtol=1e-5, atol=1e-6, share=1e-4, **SIZES)
def quantised_and_transposed(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def want():
        values, scale = _want(x)
        return values.T, scale

    return lambda: file.quantize_global_transpose(x), want
