"""Humming: activations in 8 and 4 bits, with scales for groups of them."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "inclusionAI/humming",
    "2d9d953124c54e801194d3164512a418239803f8",
    packages={"humming": "."},
)
FILE = "humming/kernel/quant_input.py"
SIZES = dict(small=dict(m=20, n=256, group=64), production=dict(m=16384, n=8192, group=128))


def _scales(groups, low, high):
    return torch.maximum(groups.amax(-1) / high, -groups.amin(-1) / low)


@repository.case(FILE, "_quant_tensor_kernel", name="float8_groups", rtol=1e-5, atol=0, share=1e-4, **SIZES)  # fmt: skip
def float8(file, device, m, n, group):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16)

    def want():
        groups = x.float().unflatten(-1, (-1, group))
        scales = groups.abs().amax(-1) / 448
        return (groups * (1 / scales[..., None])).to(tm.FP8).flatten(-2), scales

    return lambda: file.humming_quant_input(x, "float8e4m3", None, group), want


@repository.case(FILE, "_quant_tensor_kernel", name="int8_groups", rtol=1e-5, atol=0, share=1e-4, **SIZES)  # fmt: skip
def int8(file, device, m, n, group):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16)

    def want():
        groups = x.double().unflatten(-1, (-1, group))
        scales = _scales(groups, 128.49, 127.49)
        return (groups / scales[..., None]).round().flatten(-2), scales

    return lambda: file.humming_quant_input(x, "int8", None, group), want


@repository.case(FILE, "_quant_tensor_kernel", name="int4_rows", rtol=1e-5, atol=0, share=1e-4, small=dict(m=20, n=300), production=dict(m=16384, n=8192))  # fmt: skip
def int4(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16)

    def want():
        scales = _scales(x.double(), 8.49, 7.49)[:, None]
        values = (x.double() / scales).round().long() & 15
        return values[:, 1::2] << 4 | values[:, ::2], scales

    return lambda: file.humming_quant_input(x, "int4"), want
