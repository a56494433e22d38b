"""triton-fused-kernels of shiva-sankeerth: an RMS norm whose rows become integers of 8 bits."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("shiva-sankeerth/triton-fused-kernels", "f0cfb0dad5255a2d394042933aac269e43b5c8d7")  # fmt: skip


@repository.case("kernels/rms_norm_quant.py", "_rms_norm_fwd_kernel, _quantize_kernel", small=dict(m=7, n=1000), production=dict(m=16384, n=4096), rtol=1e-4, atol=1e-6, share=1e-3)  # fmt: skip
def rms_norm_quantised(file, device, m, n):
    x, weight = tm.normal(m, n, device=device), (torch.rand(n) + 0.5).to(device)

    def want():
        y = tm.rms_norm(x, weight, 1e-6)
        scale = y.abs().amax(-1) / 127
        return (y / scale[:, None]).round(), scale

    return lambda: file.rms_norm_quant_triton(x, weight), want
