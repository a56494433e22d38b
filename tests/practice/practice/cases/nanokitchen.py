"""nanokitchen: recurrences h = g h + x, one program or one lane for a whole sequence."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("proger/nanokitchen", "1447e00e3f692826c331a3a7d50048ff554c8c76")
FILE = "triscan.py"


def _inputs(device, b, c, t):
    return (torch.rand(b, c, t) * 0.5 + 0.5).to(device), tm.normal(b, c, t, device=device)


def _right(gates, tokens):
    state, states = torch.zeros_like(tokens[..., 0]), []
    for gate, token in zip(gates.unbind(-1), tokens.unbind(-1), strict=True):
        state = gate * state + token
        states.append(state)
    return torch.stack(states, -1)


@repository.case(FILE, "scan2, scan2_backward", small=dict(b=2, c=3, t=256), production=dict(b=8, c=1024, t=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def unrolled(file, device, b, c, t):
    gates, tokens = _inputs(device, b, c, t)
    up = tm.normal(b, c, t, device=device)
    return (
        lambda: tm.with_gradients(file.Scan.apply, up, gates, tokens),
        lambda: tm.with_gradients(_right, up.double(), gates, tokens, exact=True),
    )


@repository.case(FILE, "scan3", small=dict(b=2, c=3, t=128), production=dict(b=16, c=1024, t=2048), rtol=1e-4, atol=1e-4)  # fmt: skip
def packed(file, device, b, c, t):
    gates, tokens = _inputs(device, b, c, t)

    def run():
        out, products = torch.empty_like(tokens), torch.empty_like(gates)
        file.scan3[b, c](gates, tokens, out, products, t, enable_fp_fusion=False)
        return out, products

    return run, lambda: (_right(gates.double(), tokens.double()), gates.double().cumprod(-1))


# All lanes load one element of what has just been stored: in order, as there is one warp.
@repository.case(FILE, "scan4", small=dict(b=2, c=3, t=256, chunk=32), production=dict(b=1, c=1024, t=8192, chunk=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def stitched(file, device, b, c, t, chunk):
    gates, tokens = _inputs(device, b, c, t)

    def run():
        out, ports = torch.zeros_like(tokens), torch.zeros_like(gates)
        locks = torch.zeros(b, c, dtype=torch.int32, device=device)
        file.scan4[b, c, t // chunk](gates, tokens, out, ports, locks, t, chunk, num_warps=1)
        return out

    return run, lambda: _right(gates.double(), tokens.double())
