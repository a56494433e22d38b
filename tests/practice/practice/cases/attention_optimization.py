"""triton-attention-optimization: attention of one head in float32, as a whole and in tiles."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("rajk97/triton-attention-optimization", "9c2ee12982fbc88c837d07659f3036113deb1a70")  # fmt: skip


@repository.case("src/triton_tiled.py", "tiled_attention_kernel", small=dict(n=200, d=32), production=dict(n=8192, d=64), rtol=1e-4, atol=1e-4)  # fmt: skip
def tiled(file, device, n, d):
    q, k, v = (tm.normal(n, d, device=device) for _ in range(3))
    return (
        lambda: file.tiled_attention(q, k, v),
        lambda: tm.attention(*(x[None] for x in (q, k, v)))[0][0],
    )
