"""torchmd-net: lists of the neighbours of atoms, by brute force and by cells."""

from __future__ import annotations

import importlib

import torch

from practice.case import Repository

repository = Repository("torchmd/torchmd-net", "1d02bf95018cbca82d9bc822a0198f7bfe1cf0ff", packages={"torchmdnet": "."})  # fmt: skip
FILE = "torchmdnet/extensions/triton_neighbors.py"
SIZES = dict(small=dict(n=60, side=9.0), production=dict(n=4096, side=60.0))


def _listed(strategy, periodic, loop, both):
    def build(file, device, n, side):
        positions = ((torch.rand(n, 3) - 0.5) * side).to(device)
        batch = (torch.arange(n) * 2 // n).to(device)
        box, cutoff = torch.eye(3) * side, 3.0
        most = n * 64

        def run():
            x = positions.clone().requires_grad_()
            cells = int(max(3, side // cutoff)) ** 3
            apply = getattr(importlib.import_module(f"torchmdnet.extensions.triton_{strategy}"), f"Triton{strategy.title()}NeighborAutograd").apply  # fmt: skip
            more = [cells] if strategy == "cell" else []
            pairs, deltas, distances, count = apply(x, batch, box.to(device), periodic, 0.5, cutoff, most, loop, both, *more)  # fmt: skip
            (grad,) = torch.autograd.grad(distances.square().sum(), x)
            keep = pairs[0] >= 0
            order = (pairs[0] * n + pairs[1])[keep].argsort()
            return [t[keep][order] for t in (pairs.T, deltas.detach(), distances.detach())], count, grad  # fmt: skip

        def want():
            x = positions.cpu().double().requires_grad_()
            d = x[:, None] - x[None]
            if periodic:
                d = d - side * (d / side).round().detach()
            far = d.square().sum(-1)
            near = (far < cutoff**2) & (far >= 0.25)
            same = batch.cpu()[:, None] == batch.cpu()
            index = torch.arange(n)
            if loop:
                near |= torch.eye(n, dtype=torch.bool)
            near &= same & (True if both else index[:, None] >= index)
            i, j = near.nonzero(as_tuple=True)
            squares = far[near]
            (grad,) = torch.autograd.grad(squares.sum(), x)
            return [torch.stack([i, j], 1), d[near].detach(), squares.detach().sqrt()], torch.tensor([len(i)]), grad  # fmt: skip

        return run, want

    kernel = "_neighbor_brute_kernel, _tl_round" if strategy == "brute" else "cell_neighbor_kernel"
    # Beside a box that does not repeat it loads the bounds of cells that are not there, then drops them.
    finds = "oob-load" if strategy == "cell" and not periodic else ""
    name = f"{strategy}{'_periodic' * periodic}{'_loop' * loop}{'_both' * both}"
    repository.case(FILE, kernel, rtol=1e-3, atol=1e-3, name=name, finds=finds, **SIZES)(build)


for _options in (("brute", True, False, True), ("brute", False, True, False), ("cell", True, False, True), ("cell", False, False, False)):  # fmt: skip
    _listed(*_options)
