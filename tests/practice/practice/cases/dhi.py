"""dhi: RoPE of sequences and of images, with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("aum-labs/dhi", "e162c8f8cfb052fa2428a40a4242b3f913b7971e", packages={"kernels": "."}, folders=("kernels",))  # fmt: skip


def _turns(positions, d, base, device):
    angle = torch.outer(torch.arange(positions), base ** -(torch.arange(0, d, 2) / d))
    return angle.cos().to(device), angle.sin().to(device)


@repository.case("kernels/rope1d.py", "rope1d_fwd_kernel, rope1d_bwd_kernel", rtol=1e-4, atol=1e-4, small=dict(b=2, t=9, h=3, d=40), production=dict(b=4, t=4096, h=32, d=128))  # fmt: skip
def of_sequences(file, device, b, t, h, d):
    x, up = (tm.normal(b, t, h, d, device=device) for _ in range(2))
    cos, sin = _turns(t, d, 10000, device)
    both = (torch.cat([y, y], -1)[None, :, None] for y in (cos, sin))
    cos2, sin2 = both
    return (
        lambda: tm.with_gradients(
            lambda x: file.RoPE1D_triton.apply(x, cos2, sin2, d), up, x
        ),
        lambda: tm.with_gradients(
            lambda x: tm.rotated(x, cos[:, None], sin[:, None]), up, x, exact=True
        ),
    )  # fmt: skip


@repository.case("kernels/rope2d.py", "_rope2d_fwd_kernel, _rope2d_bwd_kernel", rtol=1e-4, atol=1e-4, small=dict(b=2, h=3, rows=4, columns=6, d=40), production=dict(b=32, h=16, rows=32, columns=32, d=64))  # fmt: skip
def of_images(file, device, b, h, rows, columns, d):
    """One half of a head turns by the row, the other one by the column."""
    x, up = (tm.normal(b, h, rows * columns, d, device=device) for _ in range(2))
    of_row, of_column = (_turns(n, d // 2, 100, device) for n in (rows, columns))

    def turned(x):
        y, z = x.unflatten(2, (rows, columns)).chunk(2, -1)
        y = tm.rotated(y, *(v[:, None] for v in of_row))
        return torch.cat([y, tm.rotated(z, *of_column)], -1).flatten(2, 3)

    return (
        lambda: tm.with_gradients(
            lambda x: file.RoPE2D_triton.apply(x, *of_row, *of_column, columns), up, x
        ),
        lambda: tm.with_gradients(turned, up, x, exact=True),
    )
