"""Compression: vectors of codes of a few bits with a norm, sums of such, and attention over pages
of keys and values in such codes."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("VecPLabs/Compression", "9fa9cad3da70e1b44d6b4a75e9de33eabcc5f70c")
FILE = "triton_kernels.py"


def _packed(codes, bits):
    """One after the other, the lowest bit first, with a byte more."""
    flat = codes.to(torch.uint8).flatten(1)
    each = flat[..., None] >> torch.arange(bits, dtype=torch.uint8, device=codes.device) & 1
    each = torch.nn.functional.pad(each.flatten(1), (0, -each[0].numel() % 8 + 8))
    powers = torch.arange(8, dtype=torch.uint8, device=codes.device)
    return (each.unflatten(1, (-1, 8)) << powers).sum(-1, dtype=torch.uint8)


def _vectors(layers, count, dim, bits, device):
    codes = tm.integers(0, 1 << bits, layers, count * dim, device=device)
    return codes, torch.rand(layers, count).to(device), tm.normal(1 << bits, device=device)


def _exact(codes, norms, centroids, dim):
    return centroids.double()[codes].unflatten(-1, (-1, dim)) * norms.double()[..., None]


@repository.case(FILE, "_packed_dequant_kernel", small=dict(count=12, dim=64, bits=3), production=dict(count=1 << 18, dim=128, bits=3))  # fmt: skip
def dequantised(file, device, count, dim, bits):
    codes, norms, centroids = _vectors(1, count, dim, bits, device)
    packed, first = _packed(codes, bits)[0], count // 3 * 2
    return (
        lambda: file.packed_dequantize(packed, norms, centroids, first, count - first, dim, bits),
        lambda: _exact(codes, norms, centroids, dim)[0, first:],
    )


@repository.case(FILE, "_packed_chain_dequant_kernel", small=dict(count=12, dim=64, layers=3), production=dict(count=1 << 16, dim=128, layers=8))  # fmt: skip
def dequantised_chain(file, device, count, dim, layers):
    """A base of four bits, and differences of two."""
    base, deltas = (_vectors(n, count, dim, bits, device) for n, bits in ((1, 4), (layers, 2)))
    packed, more = _packed(base[0], 4)[0], _packed(deltas[0], 2)
    return (
        lambda: file.packed_chain_dequantize(
            packed, *base[1:], more, *deltas[1:], 0, count, dim, 4, 2, layers
        ),  # fmt: skip
        lambda: _exact(*base, dim)[0] + _exact(*deltas, dim).sum(0),
    )


@repository.case(FILE, "_paged_kv_attention_kernel", small=dict(tokens=48, heads=3, d=40, page=16), production=dict(tokens=8192, heads=32, d=128, page=64), rtol=1e-4, atol=1e-4)  # fmt: skip
def pages(file, device, tokens, heads, d, page):
    """Keys have a least value and a step for each column of a page, values a step for each row."""
    bits, count = (4, 3), tokens // page
    k, v = (tm.integers(0, 1 << b, tokens, heads, d, device=device) for b in bits)
    packed = [_packed(x.reshape(1, -1), b)[0] for x, b in zip((k, v), bits, strict=True)]
    least, step = tm.normal(count, heads, d, device=device), torch.rand(count, heads, d).to(device)
    steps, query = torch.rand(tokens, heads).to(device), tm.normal(heads, d, device=device)

    def want():
        keys = k.unflatten(0, (count, page)) * step.double()[:, None] + least.double()[:, None]
        values = ((v - 3) * steps.double()[..., None]).unflatten(0, (count, page))
        scores = (keys * query.double()).sum(-1) * d**-0.5
        top = scores.amax(1)
        weights = torch.exp(scores - top[:, None])
        return top, weights.sum(1), (weights[..., None] * values).sum(1)

    return (
        lambda: file.paged_kv_attention(
            query, packed[0], least, step, packed[1], steps, tokens, d**-0.5, heads, d, page, *bits
        ),  # fmt: skip
        want,
    )
