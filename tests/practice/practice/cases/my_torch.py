"""MyTorch: convolutions as products whose rows are gathered on the way, and their gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "priyammaz/MyTorch", "228c061c7b66b29743945ffadc9302523ad9ce69",
    packages={"mytorch": "."}, stand_ins={"cupy": {"from_dlpack": lambda x: x}},
)  # fmt: skip
FILE = "mytorch/nn/functional/fused_ops/conv.py"
SIZES = dict(small=dict(b=2, c=128, side=8, filters=64, stride=2), production=dict(b=32, c=128, side=56, filters=128, stride=1))  # fmt: skip
# All sizes fill whole blocks: masks hold positions only, not rows, filters or channels.
NEAR = dict(rtol=2e-2, atol=2e-2)
HALF = torch.float16


def _inputs(device, b, c, side, filters, stride):
    x = tm.normal(b, c, side, side, device=device, dtype=HALF)
    w = tm.normal(filters, c, 3, 3, device=device, dtype=HALF, scale=(9 * c) ** -0.5)
    bias = tm.normal(filters, device=device, dtype=HALF)
    out = (side - 1) // stride + 1
    up = tm.normal(b, filters, out, out, device=device, dtype=HALF, scale=1 / out / b**0.5)
    return x, w, bias, up, ((stride, stride), (1, 1), (1, 1))


def _right(x, w, bias, up, numbers):
    def convolved(x, w, bias):
        return F.conv2d(x, w, bias, *numbers)

    return tm.with_gradients(convolved, up, x, w, bias, exact=True)


@repository.case(FILE, "_implicit_gemm_conv2d_fwd_kernel", **SIZES, **NEAR)
def convolution(file, device, **sizes):
    x, w, bias, up, numbers = _inputs(device, **sizes)
    return (
        lambda: file.fused_conv2d_forward(x, w, bias, *numbers),
        lambda: _right(x, w, bias, up, numbers)[0],
    )


@repository.case(FILE, "_implicit_gemm_conv2d_input_bwd_kernel", **SIZES, **NEAR)
def gradient_of_picture(file, device, **sizes):
    x, w, bias, up, numbers = _inputs(device, **sizes)
    return (
        lambda: file.fused_conv2d_input_bwd(up, w, *x.shape[2:], *numbers),
        lambda: _right(x, w, bias, up, numbers)[1],
    )


@repository.case(FILE, "_implicit_gemm_conv2d_weight_bwd_kernel, _implicit_gemm_conv2d_bias_bwd_kernel", **SIZES, **NEAR)  # fmt: skip
def gradients_of_filters(file, device, **sizes):
    x, w, bias, up, numbers = _inputs(device, **sizes)
    return (
        lambda: (
            file.fused_conv2d_weight_bwd(up, x, 3, 3, *numbers),
            file.fused_conv2d_bias_bwd(up),
        ),
        lambda: _right(x, w, bias, up, numbers)[2:],
    )
