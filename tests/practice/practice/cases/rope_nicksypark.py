"""nicksypark's rope-triton: heads turned, all of a batch by one program, and the gradient."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("nicksypark/rope-triton", "9651e144151744f688421f627ac074eb89da5b46")


@repository.case("rope_triton/rope_triton.py", "rope_kernel_fw, rope_kernel_bw", small=dict(n=20, b=2, heads=3, d=48), production=dict(n=4096, b=4, heads=16, d=128))  # fmt: skip
def rope(file, device, n, b, heads, d):
    x, upstream = (tm.normal(n, b, heads, d, device=device) for _ in range(2))
    angles = tm.normal(n, d // 2, device=device)

    def want(x):
        cos, sin = angles.double().cos(), angles.double().sin()
        return tm.rotated(x, cos[:, None, None], sin[:, None, None])

    return (
        lambda: tm.with_gradients(
            lambda x: file.apply_rotary_pos_emb(x, angles, fused=True), upstream, x
        ),
        lambda: tm.with_gradients(want, upstream, x, exact=True),
    )
