"""Rotary position embedding: the two halves of every head are rotated by an angle of position and
feature.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def rope_kernel(
    x_ptr, out_ptr, cos_ptr, sin_ptr, stride_token, stride_head, heads,
    HALF: tl.constexpr, HEADS: tl.constexpr, INVERSE: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0)
    feature = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + feature)[None, :]
    sin = tl.load(sin_ptr + token * HALF + feature)[None, :]
    if INVERSE:
        sin = -sin
    head = tl.arange(0, HEADS)[:, None]
    first = token * stride_token + head * stride_head + feature[None, :]
    left = tl.load(x_ptr + first, mask=head < heads, other=0.0)
    right = tl.load(x_ptr + first + HALF, mask=head < heads, other=0.0)
    tl.store(out_ptr + first, left * cos - right * sin, mask=head < heads)
    tl.store(out_ptr + first + HALF, right * cos + left * sin, mask=head < heads)


def rope(x, cos, sin, inverse=False):
    tokens, heads, size = x.shape
    out = torch.empty_like(x)
    rope_kernel[(tokens,)](
        x, out, cos, sin, x.stride(0), x.stride(1), heads,
        HALF=size // 2, HEADS=triton.next_power_of_2(heads), INVERSE=inverse,
    )  # fmt: skip
    return out


if __name__ == "__main__":
    options = arguments("rotary embedding", 70, "tokens")
    report = Report("rope", options)
    tokens, heads, size = options.size, 6, 64
    x = torch.randn(tokens, heads, size, device=DEVICE)
    rates = 10000.0 ** (-torch.arange(0, size, 2, device=DEVICE, dtype=torch.float64) / size)
    angles = torch.arange(tokens, device=DEVICE, dtype=torch.float64)[:, None] * rates
    cos, sin = angles.cos(), angles.sin()
    out = rope(x, cos.float(), sin.float())
    left, right = x.double().chunk(2, dim=2)
    want = torch.cat(
        [left * cos[:, None] - right * sin[:, None], right * cos[:, None] + left * sin[:, None]],
        dim=2,
    )
    report.check("rotated", out, want, 1e-6)
    report.check("rotated back", rope(out, cos.float(), sin.float(), inverse=True), x, 1e-6)
    report.finish()
