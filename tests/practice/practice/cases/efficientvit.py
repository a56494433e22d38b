"""EfficientViT: RMS norm over the channels of images, and its gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("mit-han-lab/efficientvit", "de7d7733cc0329f391b33f1f459271562ec27bd5")
FILE = "efficientvit/models/nn/triton_rms_norm.py"


def _exact(x, w, b):
    y = x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-5)
    return y * w[:, None, None] + b[:, None, None]


for _gradients in (False, True):

    @repository.case(FILE, "_rms_norm_2d_fwd_fused" + ", _rms_norm_2d_bwd_dx_fused" * _gradients, small=dict(b=2, c=20, n=20), production=dict(b=16, c=256, n=128), name="rms_norm" + "_gradients" * _gradients, rtol=1e-3, atol=1e-3)  # fmt: skip
    def rms_norm(file, device, b, c, n, gradients=_gradients):
        x, dy = (tm.normal(b, c, n, n, device=device) for _ in range(2))
        w, bias = (tm.normal(c, device=device) for _ in range(2))

        def function(x, w, b):
            return file.TritonRMSNorm2dFunc.apply(x, w, b, 1e-5)

        if not gradients:
            return (
                lambda: function(x, w, bias),
                lambda: _exact(x.double(), w.double(), bias.double()),
            )
        return (
            lambda: tm.with_gradients(function, dy, x, w, bias),
            lambda: tm.with_gradients(_exact, dy, x, w, bias, exact=True),
        )
