"""Abinesh Mathivanan's kernels: a matrix times its transpose, and attention in int8."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Abinesh-Mathivanan/triton-kernels", "095cf9dcd394a776afa8dd6bf6b1a2befa2cba9d")  # fmt: skip
HALF = torch.float16


def _heads(*tensors):
    """A few heads at a time, to save memory."""
    return zip(*(x.flatten(0, 1).split(4) for x in tensors), strict=True)


@repository.case("fused_kernels/triton_xxt_fused.py", "tc_xxt_kernel", small=dict(m=150, k=100), production=dict(m=4096, k=4096), rtol=1e-3, atol=1e-2)  # fmt: skip
def times_itself(file, device, m, k):
    x = tm.normal(m, k, device=device, dtype=HALF)
    return lambda: file.xxt_tensorcore(x), lambda: x.double() @ x.double().T


@repository.case("papers/int8-FA.py", "_quant_per_token_kernel, _quant_per_head_kernel", small=dict(b=2, h=3, s=70, d=96), production=dict(b=4, h=32, s=4096, d=128), rtol=1e-5, atol=0, share=1e-4)  # fmt: skip
def quantised(file, device, b, h, s, d):
    """With a scale for each row, and one for a head; a tie may be rounded either way."""
    x = tm.normal(b, h, s, d, device=device)

    def want():
        scales = [x.abs().amax(axes).double().clamp(min=1e-8) / 127 for axes in ((3,), (2, 3))]
        spread = scales[0][..., None], scales[1][..., None, None]
        return [((x.double() / y).round(), z) for y, z in zip(spread, scales, strict=True)]

    return lambda: [file.quantize_per_token(x), file.quantize_per_head(x)], want


@repository.case("papers/int8-FA.py", "_attn_fwd_int8, _attn_fwd_inner_int8", small=dict(b=1, h=2, s=256, d=128), production=dict(b=4, h=16, s=4096, d=128), rtol=5e-2, atol=2e-2, share=1e-3)  # fmt: skip
def attention_int8(file, device, b, h, s, d):
    """The weights are rounded to 1/127 of the largest one."""
    q, k, v = (tm.normal(b, h, s, d, device=device, dtype=HALF) for _ in range(3))
    return (
        lambda: file.int8_flash_attention(q, k, v, d**-0.5),
        lambda: torch.cat([tm.attention(*x)[0] for x in _heads(q, k, v)]).view_as(q),
    )
