"""AdaSplash: entmax by root finding, and attention with it."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "deep-spin/adasplash", "4b64c94fa4cd60d274dafff3178bb96d2f831edb", packages={"adasplash": "."}
)


def _entmax(x, alpha):
    """Weights ``max((alpha - 1) x - t, 0) ** (1 / (alpha - 1))`` that sum to 1, by bisection."""
    z = x.double() * (alpha - 1)
    high = z.amax(-1, keepdim=True)
    low = high - 1
    for _ in range(80):
        middle = (low + high) / 2
        over = ((z - middle).clamp(min=0) ** (1 / (alpha - 1))).sum(-1, keepdim=True) > 1
        low, high = torch.where(over, middle, low), torch.where(over, high, middle)
    return (z - low).clamp(min=0) ** (1 / (alpha - 1))


WITHOUT = {"interpreter": "its files leave out autotune there, which has the block sizes"}


def case(file, kernels, small, production, **options):
    return repository.case(f"adasplash/{file}.py", kernels, small=small, production=production, **options)  # fmt: skip


def _rows(alpha, **arguments):
    def build(file, device, m, n):
        x = tm.normal(m, n, device=device)
        return lambda: file.triton_entmax(x, alpha, **arguments), lambda: _entmax(x, alpha)

    return build


ROWS, MANY = dict(m=5, n=200), dict(m=4096, n=4096)
case("triton_entmax", "_fwd_entmax", ROWS, MANY, atol=1e-4, not_in=WITHOUT, name="entmax")(
    _rows(1.5)
)
case(
    "triton_entmax_v2",
    "_fwd_entmax",
    ROWS,
    MANY,
    atol=1e-3,
    not_in=WITHOUT,
    name="entmax_histogram",
)(_rows(1.5))
case("triton_entmax_v2", "_fwd_entmax", ROWS, MANY, atol=1e-3, not_in=WITHOUT, name="sparsemax_histogram")(_rows(2.0))  # fmt: skip
HEADS, LONG = dict(b=1, h=2, n=128, d=32), dict(b=2, h=16, n=4096, d=64)


def _attention(q, k, v, causal):
    s = q.double() @ k.double().mT * q.shape[-1] ** -0.5
    if causal:
        rows = torch.arange(s.shape[-1], device=s.device)
        s = s.masked_fill(rows > rows[:, None], -1e9)
    return _entmax(s, 1.5) @ v.double()


def _sparse(causal, **arguments):
    def build(file, device, b, h, n, d):
        q, k, v = (tm.normal(b, h, n, d, device=device) for _ in range(3))
        return lambda: file.sparse_attn(q, k, v, **arguments), lambda: _attention(q, k, v, causal)

    return build


case("adasplash_no_block_mask", "_get_tau, _get_output", HEADS, LONG, rtol=1e-2, atol=1e-2, name="attention")(_sparse(False))  # fmt: skip
case("adasplash_block_mask", "_get_tau, _get_output, get_next_block", HEADS, LONG, rtol=1e-2, atol=1e-2, name="attention_blocks")(_sparse(False))  # fmt: skip
case("adasplash_v2", "_get_tau_v2, _get_output, get_next_block", HEADS, LONG, rtol=1e-2, atol=1e-2, not_in=WITHOUT, name="attention_histogram")(_sparse(True))  # fmt: skip
