"""recsys-examples: norms of heads, gated and with dropout, beside the gates and the inputs, and SiLU,
with their gradients, as generative recommenders need them."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("NVIDIA/recsys-examples", "43465aeabf61515e28d74cbb5234ff7c627dcc19", packages={"commons": "examples"})  # fmt: skip
FOLDER = "examples/hstu/ops/triton_ops/"
NORM = FOLDER + "triton_norm_mul_dropout.py"
KERNELS = "_group_norm_mul_dropout_fwd, _group_norm_mul_dropout_bwd_dx_du, _group_norm_bwd_dwdb"
# The gradients read numbers of heads that are not there, but for a power of two of them.
SIZES = dict(small=dict(n=37, heads=4, d=20), production=dict(n=16384, heads=4, d=256))


def _inputs(n, heads, d, device):
    x, u = (tm.normal(n, heads * d, device=device) for _ in range(2))
    weight, bias = torch.rand(heads).to(device) + 0.5, tm.normal(heads, device=device)
    return x, u, weight, bias


def _gated(x, u, weight, bias):
    rows = x.unflatten(1, (len(weight), -1))
    y = F.layer_norm(rows, rows.shape[-1:], eps=1e-5) * weight[:, None] + bias[:, None]
    return torch.cat([u, x, y.flatten(1) * u], 1)


def _scaled(results, count):
    """Gradients of weights are divided by what they grow with."""
    return [r / count**0.5 if i > 2 else r for i, r in enumerate(results)]


@repository.case(NORM, KERNELS, rtol=1e-3, atol=1e-3, **SIZES)
def norms_of_heads(file, device, n, heads, d):
    inputs = _inputs(n, heads, d, device)
    up = tm.normal(n, 3 * heads * d, device=device)

    def ours(*a):
        return file.triton_norm_mul_dropout(*a, 1e-5, 0.0, True, True, True, heads, d, 7)

    return (
        lambda: _scaled(tm.with_gradients(ours, up, *inputs), n * d),
        lambda: _scaled(tm.with_gradients(_gated, up.double(), *inputs, exact=True), n * d),
    )


@repository.case(NORM, KERNELS, rtol=1e-3, atol=2e-3, small=dict(n=300, heads=4, d=20), production=SIZES["production"])  # fmt: skip
def dropped_norms(file, device, n, heads, d):
    """Whether the share that is kept is right, and how far results and gradients are from what is right for just
    these elements."""
    inputs = _inputs(n, heads, d, device)
    up = tm.normal(n, 3 * heads * d, device=device)

    def ours(*a):
        return file.triton_norm_mul_dropout(*a, 1e-5, 0.25, True, True, True, heads, d, 1 << 40)

    def run():
        results = tm.with_gradients(ours, up, *inputs)
        kept = results[0] != 0

        def right(*a):
            return _gated(*a) * kept / 0.75

        exact = tm.with_gradients(right, up.double(), *inputs, exact=True)
        pairs = zip(_scaled(results, n * d), _scaled(exact, n * d), strict=True)
        share = kept.double().mean(0).view(3, -1).mean(1)
        errors = [(a - b).abs().max() / (1 + b.abs().max()) for a, b in pairs]
        return (share - 0.75).abs() < 0.02, errors

    return run, lambda: (torch.ones(3, dtype=torch.bool), [torch.zeros(())] * 5)


@repository.case(FOLDER + "triton_silu.py", "_silu_forward, _silu_backward", rtol=1e-2, atol=1e-2, small=dict(n=37, d=90), production=dict(n=32768, d=2048))  # fmt: skip
def silu(file, device, n, d):
    x, up = (tm.normal(n, d, device=device, dtype=torch.bfloat16, scale=3.0) for _ in range(2))
    return (
        lambda: tm.with_gradients(file.triton_silu, up, x),
        lambda: tm.with_gradients(F.silu, up.double(), x, exact=True),
    )
