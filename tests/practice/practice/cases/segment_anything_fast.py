"""segment-anything-fast: attention over a picture, with biases of its rows and its columns."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "pytorch-labs/segment-anything-fast", "e6aadeb86f3ae1f58c3f98e2a91e251716e0f2aa",
    packages={"segment_anything_fast": "."},
)  # fmt: skip


@repository.case("segment_anything_fast/flash_4.py", "_fwd_kernel_aligned", small=dict(b=1, h=2, side=16), production=dict(b=4, h=12, side=64), rtol=3e-2, atol=1e-2)  # fmt: skip
def attention_over_a_picture(file, device, b, h, side):
    """Blocks of 64 keys are rows of the picture; a small one has four rows in a block."""
    m, d, width = side * side, 64, 64
    q, k, v = (tm.normal(b, h, m, d, device=device, dtype=torch.bfloat16) for _ in range(3))
    bias = tm.normal(b, h, m, 2 * width, device=device, dtype=torch.bfloat16)

    def run():
        out = torch.empty_like(q)
        file._attention_rel_h_rel_w_kernel_aligned_device(q, k, v, bias, d**-0.5, out, 128, 64, 4, 3)  # fmt: skip
        return out

    def want():
        rows, columns = bias.double().split(width, -1)
        at = torch.arange(m, device=device)
        both = rows[..., at // width] + columns[..., at % width]
        return tm.attention(q, k, v, bias=both)[0]

    return run, want
