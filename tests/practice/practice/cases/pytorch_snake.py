"""Snake, an activation for audio: x + sin(a x)^2 / a with one factor for each channel, which is
trained, and its gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("falkaer/pytorch-snake", "c64021683ec1a1ac6e6c33a7883d07b984d6d344")
FILE = "snake.py"
SIZES = dict(small=dict(b=2, c=3, n=150), production=dict(b=16, c=48, n=40000))


def _inputs(b, c, n, device):
    x, up = (tm.normal(b, c, n, device=device) for _ in range(2))
    alpha, correction = ((torch.rand(c) + 0.5).to(device) for _ in range(2))
    return x, up, alpha, correction


def _snake(x, alpha, correction=None):
    out = x + (alpha[:, None] * x).sin().square() / alpha[:, None]
    return out if correction is None else out / correction[:, None]


@repository.case(FILE, "_snake_fwd_triton", rtol=1e-4, atol=1e-5, **SIZES)
def forward(file, device, b, c, n):
    """With channels last in memory, so that the elements of a row are apart."""
    x, _, alpha, correction = _inputs(b, c, n, device)
    apart = x.transpose(1, 2).contiguous().transpose(1, 2)
    return (
        lambda: (file.snake_fwd(x, alpha), file.snake_fwd(apart, alpha, correction)),
        lambda: (
            _snake(x.double(), alpha.double()),
            _snake(x.double(), alpha.double(), correction.double()),
        ),
    )


@repository.case(FILE, "_snake_fwd_triton, _snake_bwd_triton", rtol=1e-3, atol=1e-2, **SIZES)
def gradients(file, device, b, c, n):
    x, up, alpha, correction = _inputs(b, c, n, device)
    inputs = x, alpha, correction
    return (
        lambda: tm.with_gradients(file.SnakeFunction.apply, up, *inputs),
        lambda: tm.with_gradients(_snake, up.double(), *inputs, exact=True),
    )
