"""Jet-Nemotron: convolutions whose weights come with each token."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "NVlabs/Jet-Nemotron",
    "94cbd12404637950722a09f70c8649ff1b1f2793",
    packages={"jetai": "."},
    stand_ins={"einops": {}},
)
FOLDER = "jetai/modeling/hf"
SMALL, LARGE = dict(b=2, t=9, d=150), dict(b=4, t=4096, d=1536)


def _conv(x, kernels):
    """The last of the kernel's four weights is for the token itself."""
    windows = F.pad(x, (0, 0, 3, 0)).unfold(1, 4, 1)
    return (windows * kernels).sum(-1)


@repository.case(f"{FOLDER}/dconv_fwdbwd.py", "_dynamic_conv_fwd_kernel, _dynamic_conv_bwd_dx_kernel, _dynamic_conv_bwd_dk_kernel", small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4)  # fmt: skip
def dynamic_conv(file, device, b, t, d):
    x, kernels, upstream = (
        tm.normal(*s, device=device) for s in ((b, t, d), (b, t, d, 4), (b, t, d))
    )
    call = file.dynamic_conv_triton_autograd
    return (
        lambda: tm.with_gradients(call, upstream, x, kernels),
        lambda: tm.with_gradients(_conv, upstream, x, kernels, exact=True),
    )


@repository.case(f"{FOLDER}/dconv_fwdbwd.py", "_dynamic_conv_fwd_kernel", small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4)  # fmt: skip
def dynamic_conv_packed(file, device, b, t, d):
    x, kernels = tm.normal(1, b * t, d, device=device), tm.normal(1, b * t, d, 4, device=device)
    starts = tm.starts([t - 2, *[t] * (b - 2), t + 2], device, torch.int64)

    def want():
        parts = list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))
        return torch.cat([_conv(x[:, i:j].double(), kernels[:, i:j]) for i, j in parts], 1)

    return lambda: file.dynamic_conv_triton_autograd(x, kernels, starts), want
