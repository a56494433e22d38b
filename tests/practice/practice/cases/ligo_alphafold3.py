"""Ligo's AlphaFold 3: rows of an alignment averaged with weights, with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Ligo-Biosciences/AlphaFold3", "621531e4f36c3ce5e20157f88f27049d3f3f1fcc")


class ChainedTorch:
    """torch, whose new tensors are zeros."""

    empty = staticmethod(torch.zeros)

    def __getattr__(self, name):
        return getattr(torch, name)


@repository.case("src/models/components/msa_kernel.py", "MSAFwdFused, MSABwdFused", small=dict(b=1, s=20, r=40, h=2, c=3), production=dict(b=1, s=128, r=256, h=8, c=8), rtol=1e-3, atol=1e-3)  # fmt: skip
def averages(file, device, b, s, r, h, c):
    v, g = (tm.normal(b, s, r, h, c, device=device) for _ in range(2))
    bias, up = tm.normal(b, r, r, h, device=device), tm.normal(b, s, r, h * c, device=device)

    def right(v, bias, g):
        out = torch.einsum("bsjhc,bijh->bsihc", v, bias.softmax(2)) * g.sigmoid()
        return out.flatten(-2)

    # Line 89 adds to what `torch.empty` gives, times a number: zeros are what it needs.
    file.torch = ChainedTorch()

    def run():  # the gradient overwrites the weights
        return tm.with_gradients(lambda v, bias, g: file.MSAWeightedAveragingFused(v, bias.clone(), g), up, v, bias, g)  # fmt: skip

    return run, lambda: tm.with_gradients(right, up, v, bias, g, exact=True)
