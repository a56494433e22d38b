"""forgather: steps of Adafactor, with row and column sums of squares that are never stored."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("jdinalt/forgather", "f92f8b8b0940451edcd5642f516514e96aa2dd7e")
FILE = "src/forgather/ml/optim/adafactor_triton.py"
BETA, EPS, LR, DECAY, CLIP = 0.9, 1e-30, 1e-2, 0.01, 1.0


def _stepped(param, update):
    clip = max(1.0, update.square().mean().sqrt().item() / CLIP)
    return param.double() * (1 - LR * DECAY) - LR * update / clip


@repository.case(FILE, "factored_row_reduction_kernel, factored_col_reduction_kernel, compute_update_rms_kernel, apply_update_with_clipping_kernel", rtol=1e-4, atol=1e-5, small=dict(m=70, n=1100), production=dict(m=4096, n=11008))  # fmt: skip
def matrix_step(file, device, m, n):
    param, grad = (tm.normal(m, n, device=device) for _ in range(2))
    row, col = (torch.rand(size).to(device) * n for size in (m, n))

    def run():
        out = [x.clone() for x in (param, row, col)]
        file.adafactor_step_2d_triton(out[0], grad, *out[1:], BETA, EPS, LR, DECAY, CLIP)
        return out

    def want():
        squares = grad.double().square() + EPS
        new_row, new_col = (
            x.double() * BETA + squares.sum(axis) * (1 - BETA) for x, axis in ((row, 1), (col, 0))
        )
        update = grad.double() * (new_row / new_row.sum()).rsqrt()[:, None] * new_col.rsqrt()
        return [_stepped(param, update), new_row, new_col]

    return run, want


@repository.case(FILE, "vector_compute_update_rms_kernel, vector_apply_update_kernel", rtol=1e-4, atol=1e-5, small=dict(n=3000), production=dict(n=1 << 25))  # fmt: skip
def vector_step(file, device, n):
    param, grad = (tm.normal(n, device=device) for _ in range(2))
    state = torch.rand(n).to(device) + 0.1

    def run():
        out = [x.clone() for x in (param, state)]
        file.adafactor_step_1d_triton(out[0], grad, out[1], BETA, EPS, LR, DECAY, CLIP)
        return out

    def want():
        new = state.double() * BETA + (grad.double().square() + EPS) * (1 - BETA)
        return [_stepped(param, grad.double() / new.sqrt()), new]

    return run, want
