"""compressed-tensors: FP4 values, two in a byte, and integers with scales for groups or blocks."""

from __future__ import annotations

from types import SimpleNamespace

import torch
import triton
import triton.language as tl

from practice import torch_math as tm
from practice.case import Repository

STRATEGIES = SimpleNamespace(BLOCK="block", GROUP="group", TENSOR_GROUP="tensor_group", TENSOR="tensor", CHANNEL="channel")  # fmt: skip
repository = Repository(
    "vllm-project/compressed-tensors",
    "ac8e2ba82f4e0d5eaa40069f8fc642738f124cd4",
    packages={"compressed_tensors": "src"},
    stand_ins={
        "loguru": {},
        "compressed_tensors.utils.triton": {
            "triton": triton,
            "tl": tl,
            "triton_req": lambda *_: True,
        },  # fmt: skip
        "compressed_tensors.quantization.quant_args": {
            "QuantizationStrategy": STRATEGIES,
            "QuantizationType": SimpleNamespace(INT="int", FLOAT="float"),
        },
        "compressed_tensors.quantization.utils": {"maybe_pad_tensor_for_block_quant": None},
    },
)
SOURCE = "src/compressed_tensors/"
VALUES = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)


def _nearest(x):
    """The nearest FP4 value; of two as near, that with the even code."""
    middles = (VALUES[1:] + VALUES[:-1]).to(x.device) / 2
    above = x.abs().double()[..., None] > middles
    ties = (x.abs().double()[..., None] == middles) & (torch.arange(7, device=x.device) % 2 == 1)
    return (above | ties).sum(-1)


@repository.case(SOURCE + "quantization/utils/fp4_utils.py", "_cast_to_fp4_kernel", small=dict(m=7, n=300), production=dict(m=8192, n=8192))  # fmt: skip
def cast_to_fp4(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16, scale=3.0)
    return (
        lambda: file.cast_to_fp4_triton(x),
        lambda: VALUES.to(device)[_nearest(x)] * x.sign().double(),
    )


@repository.case(SOURCE + "compressors/nvfp4/helpers.py", "_pack_fp4_kernel", small=dict(m=7, n=300), production=dict(m=8192, n=8192))  # fmt: skip
def pack_fp4(file, device, m, n):
    codes = tm.integers(0, 16, m, n, device=device)
    x = (VALUES.to(device)[codes & 7] * torch.where(codes > 7, -1.0, 1.0)).to(torch.bfloat16)
    return lambda: file.pack_fp4_to_uint8_triton(x), lambda: codes[:, ::2] | codes[:, 1::2] << 4


def _quantised(name, strategy, bits, shape_of, **sizes):
    def build(file, device, m, n):
        kind = "float" if bits == 4 else "int"
        args = SimpleNamespace(strategy=strategy, num_bits=bits, type=kind)
        x, scale = shape_of(tm.normal(m, n, device=device), device)
        zero = None if kind == "float" else tm.integers(-5, 6, *scale.shape, device=device).float()
        low, high = (torch.tensor(v, device=device) for v in ((-6.0, 6.0) if bits == 4 else (-128.0, 127.0)))  # fmt: skip

        def want():
            one = (slice(None),) * scale.dim() + (None,) * (x.dim() - scale.dim())
            y = x.double() / scale.double()[one] + (0 if zero is None else zero.double()[one])
            y = y.clamp(low.item(), high.item())
            return y.round() if zero is not None else VALUES.to(device)[_nearest(y)] * y.sign()

        return lambda: file._quantize_triton(x, scale, zero, low, high, args), want

    repository.case(SOURCE + "quantization/lifecycle/forward_helpers.py", "_quantize_kernel, _round_to_fp4", share=1e-2, name=name, **sizes)(build)  # fmt: skip


def _blocks(x, device):
    x = x.unflatten(1, (-1, 128)).unflatten(0, (-1, 128)).transpose(1, 2)
    return x, (torch.rand(x.shape[:2]) * 0.01 + 0.01).to(device)


def _groups(x, device):
    x = x.unflatten(1, (-1, 16))
    return x, (torch.rand(x.shape[:2]) + 0.5).to(device)


SMALL = dict(m=256, n=384)
LARGE = dict(m=8192, n=8192)
_quantised("blocks_of_int8", "block", 8, _blocks, small=SMALL, production=LARGE)
_quantised("groups_of_fp4", "group", 4, _groups, small=SMALL, production=LARGE)
