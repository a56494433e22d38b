"""Block-sparse convolution along time: only some blocks of channels feed others, as in rivers."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "TristHas/block_sparse_conv",
    "4e793705fa4de45fcb510b666d92ee5bf9344f15",
    folders=(".",),
)


@repository.case(
    "torch_function.py",
    "block_sparse_conv_1d_fwd_kernel, block_sparse_conv_1d_bwd_dx_kernel, "
    "block_sparse_conv_1d_bwd_dvalues_kernel, maybe_dot, custom_dot",
    rtol=1e-2,
    atol=1e-2,
    small=dict(b=2, block=16, blocks=3, filled=5, t=70, taps=4),
    production=dict(b=4, block=32, blocks=32, filled=64, t=3650, taps=10),
)
def sparse_convolution(file, device, b, block, blocks, filled, t, taps):
    x, up = (tm.normal(b, blocks * block, t, device=device) for _ in range(2))
    pairs = torch.randperm(blocks * blocks)[:filled]
    pairs = torch.stack([pairs // blocks, pairs % blocks], -1).to(torch.int32)
    values = tm.normal(filled, block, block, taps, device=device, scale=(b * t) ** -0.5)
    places = pairs.to(device)

    def exact(x, values):
        parts = F.pad(x, (taps - 1, 0)).unflatten(1, (blocks, block))
        out = [torch.zeros_like(x[:, :block]) for _ in range(blocks)]
        for (to, source), kernel in zip(pairs.tolist(), values, strict=True):
            out[to] = out[to] + F.conv1d(parts[:, source], kernel)
        return torch.cat(out, 1)

    def ours(x, values):
        return file.block_sparse_conv_1d_autograd(x, places, values, block, 64)

    return (
        lambda: _even(tm.with_gradients(ours, up, x, values), b * t),
        lambda: _even(tm.with_gradients(exact, up, x, values, exact=True), b * t),
    )


def _even(results, count):
    """The results, those that are sums of many with a factor."""
    out, dx, dvalues = results
    return out, dx, dvalues * count**-0.5
