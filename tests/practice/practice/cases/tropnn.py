"""TropNN: heads that each choose the best of some affine cells, and add a code for it. Runner-ups
take part in training, so the choice has gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("maxwell-gao/tropnn", "d4ab14d47fb519a01de20ef75f2c044eaf0906f8", packages={"backends": "."})  # fmt: skip
SCORES, BACKWARD = "backends/triton_scores.py", "backends/triton_backward.py"
SIZES = dict(
    small=dict(batch=2, steps=35, heads=5, cells=16, dim=48),
    production=dict(batch=4, steps=2048, heads=32, cells=16, dim=128),
)
SCALE = 0.3


def _inputs(batch, steps, heads, cells, dim, device):
    """In eighths, where float32 makes no mistake and a choice is no matter of rounding."""
    z, weight = (
        tm.integers(-8, 9, *shape, device=device, dtype=torch.float32) / 8
        for shape in ((batch, steps, dim), (heads, cells, dim))
    )
    bias = tm.normal(heads, cells, device=device)
    return z, weight, bias, tm.normal(heads, cells, dim, device=device)


def _best_two(z, weight, bias):
    scores = torch.einsum("bsd,hcd->bshc", z.double(), weight.double()) + bias.double()
    values, cells = scores.topk(2)
    return values[..., 0] - values[..., 1], cells[..., 0], cells[..., 1]


def _codes(code, cells):
    heads = torch.arange(code.shape[0], device=cells.device)
    return code.double()[heads, cells]  # (batch, steps, heads, dim)


@repository.case(SCORES, "_top2_stream_kernel", rtol=1e-4, atol=1e-4, share=1e-5, **SIZES)
def best_two(file, device, batch, steps, heads, cells, dim):
    z, weight, bias, _ = _inputs(batch, steps, heads, cells, dim, device)

    def want():
        margins, winner, runner = _best_two(z, weight, bias)
        return winner, runner, margins

    return lambda: file.trop_top2_stream_triton(z, weight, bias), want


@repository.case(SCORES, "_scores_kernel, _hidden_from_scores_train_kernel", rtol=1e-4, atol=1e-4, share=1e-5, **SIZES)  # fmt: skip
def hidden_in_training(file, device, batch, steps, heads, cells, dim):
    z, weight, bias, code = _inputs(batch, steps, heads, cells, dim, device)

    def want():
        margins, winner, runner = _best_two(z, weight, bias)
        alpha = (0.5 / (1 + margins))[..., None]
        codes = _codes(code, winner) * (1 - alpha) + _codes(code, runner) * alpha
        return z.double() + SCALE * codes.sum(2), winner, runner, margins

    return (
        lambda: file.trop_route_hidden_triton_train(z, weight, bias, code, code_scale=SCALE),
        want,
    )


@repository.case(BACKWARD, "_recompute_route_margins_kernel, _grad_margin_kernel, _grad_code_sparse_kernel, _grad_router_sparse_kernel, _grad_latent_kernel", rtol=1e-3, atol=1e-3, share=1e-5, **SIZES)  # fmt: skip
def gradients(file, device, batch, steps, heads, cells, dim):
    z, weight, bias, code = _inputs(batch, steps, heads, cells, dim, device)
    _, winner, runner = (x.flatten(0, 1) for x in _best_two(z, weight, bias))
    upstream = tm.normal(batch * steps, dim, device=device)
    inputs = z.flatten(0, 1), weight, bias, code

    def run():
        return file.trop_exact_route_backward_triton(
            upstream, *inputs, winner, runner, code_scale=SCALE
        )

    def want():
        leaves = [x.double().detach().requires_grad_() for x in inputs]
        z, weight, bias, code = leaves
        scores = torch.einsum("md,hcd->mhc", z, weight) + bias
        first, second = (scores.gather(2, x[..., None])[..., 0] for x in (winner, runner))
        alpha = (0.5 / (1 + (first - second).abs()))[..., None]
        heads_of = torch.arange(heads, device=device)
        codes = code[heads_of, winner] * (1 - alpha) + code[heads_of, runner] * alpha
        return torch.autograd.grad(z + SCALE * codes.sum(1), leaves, upstream.double())

    return run, want
