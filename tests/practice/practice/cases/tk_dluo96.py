"""triton-kernels of dluo96: an image in grey."""

from __future__ import annotations

import torch

from practice.case import Repository

repository = Repository("dluo96/triton-kernels", "82fd4b2af19a87826d12c0e1f31558878859771b")


@repository.case("tk/rgb_to_grey.py", "kernel_rgb_to_grey", small=dict(h=50, w=70), production=dict(h=4320, w=7680), rtol=1e-5, atol=1e-5)  # fmt: skip
def grey(file, device, h, w):
    x = torch.rand(3, h, w).to(device)
    parts = torch.tensor([0.2989, 0.5870, 0.1140], dtype=torch.float64, device=device)
    return (
        lambda: file.rgb_to_grey(x, (32, 32)),
        lambda: torch.einsum("chw,c->hw", x.double(), parts),
    )
