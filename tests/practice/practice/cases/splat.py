"""SPLAT of triton-fun: products and a softmax where each row of a matrix has its own range."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("spikerheado1234/triton-fun", "889b72fd892adbc12cf6bee891e17d3a8b6253eb", folders=("SPLAT",))  # fmt: skip


def _window(file, n, p):
    """The window around the diagonal, for each row its first column and how many; the format."""
    rows = torch.arange(n)
    first, last = (rows - p).clamp(min=0), (rows + p).clamp(max=n - 1)
    mask = ((rows >= first[:, None]) & (rows <= last[:, None])).int().tolist()
    return mask, first, last - first + 1, file.create_acsr(mask, 1, 0)


def _valid(count, most):
    return torch.arange(most) < count[:, None]


@repository.case("SPLAT/r_sddmm.py", "rsddmm_kernel", small=dict(b=2, n=96, d=40, p=9), production=dict(b=64, n=2048, d=64, p=256), rtol=1e-2, atol=1e-2)  # fmt: skip
def window_products(file, device, b, n, d, p):
    mask, first, count, metadata = _window(file, n, p)
    x, y = tm.normal(1, b, n, d, device=device), tm.normal(1, b, d, n, device=device)
    *indices, counts, most, _, _ = metadata
    shape = 1, b, n, most
    valid = _valid(count, most).to(device)

    def run():
        out, grid, left, top = file.rsddmm_preamble(mask, shape, 32, 32, 0, torch.float32)
        file.rsddmm_launcher(x, y, out, *indices, most, counts, grid, left, top, 32, 32)
        return torch.where(valid, out, 0)

    def want():
        columns = (first[:, None] + torch.arange(most)).clamp(max=n - 1).to(device)
        dense = x.double() @ y.double()
        return torch.where(valid, dense.gather(-1, columns.expand(1, b, n, most)), 0)

    return run, want


@repository.case("SPLAT/r_softmax.py", "r_softmax_1d_kernel", small=dict(b=2, n=70, p=9), production=dict(b=64, n=2048, p=256))  # fmt: skip
def window_softmax(file, device, b, n, p):
    mask, _, count, metadata = _window(file, n, p)
    *indices, counts, most, _, _ = metadata
    x = tm.normal(1, b, n, most, device=device)
    valid = _valid(count, most).to(device)

    def run():
        grid, out, _, power = file.rsoftmax_preamble(mask, x.shape, 1, 0, torch.float32)
        out.zero_()
        return file.rsoftmax_launcher(x, out, *indices, most, power, counts, grid, 1)[0]

    return run, lambda: x.double().masked_fill(~valid, -torch.inf).softmax(-1)
