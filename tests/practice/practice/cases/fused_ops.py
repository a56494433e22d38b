"""triton-fused-ops: RMS norm with RoPE. Its other kernels do not compile with today's Triton."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("LessUp/triton-fused-ops", "4192a27555113fce21c5037a3676946872e210a6", packages={"triton_ops": "."})  # fmt: skip
PLACE = "triton_ops/kernels/"
F16 = torch.float16


@repository.case(f"{PLACE}rmsnorm_rope.py", "fused_rmsnorm_rope_kernel", small=dict(b=2, n=5, h=3, d=64), production=dict(b=2, n=4096, h=32, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def rms_norm_rope(file, device, b, n, h, d):
    x, w = tm.normal(b, n, h * d, device=device, dtype=F16), tm.normal(h * d, device=device, dtype=F16)  # fmt: skip
    angles = torch.rand(n, d // 2).to(device) * 6
    cos, sin = (f(angles).repeat(1, 2) for f in (torch.cos, torch.sin))
    y = tm.rms_norm(x, w, 1e-6).unflatten(-1, (h, d))
    return (
        lambda: file.fused_rmsnorm_rope(x, w, cos, sin, num_heads=h),
        lambda: tm.rotated(y, angles.cos()[:, None], angles.sin()[:, None]).flatten(2),
    )
