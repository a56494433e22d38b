"""nmoe: sparse attention of three kinds: an indexer's scores and its top keys, compressed keys with
the sums of their blocks, windows with sinks by descriptors."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "modal-projects/nmoe", "556f77cdad2591d6cef456c5fa7ec22d75bd4513", packages={"nmoe": "."},
)  # fmt: skip
FOLDER = "nmoe/triton/"
BF16 = torch.bfloat16
NEAR = dict(rtol=2e-2, atol=1e-2)
INDEXER = dict(small=dict(b=1, m=40, n=150, h=2, d=32), production=dict(b=1, m=2048, n=4096, h=8, d=128))  # fmt: skip


def _indexer(device, b, m, n, h, d):
    q = tm.normal(b, m, h, d, device=device, dtype=BF16)
    k = tm.normal(b, n, d, device=device, dtype=BF16, scale=d**-0.5)
    # No weight below 0: else many scores are 0, and any of them may be of the top ones.
    return q, k, tm.normal(b, m, h, device=device, dtype=BF16).abs()


def _scores(q, k, w):
    q, k, w = (x.double() for x in (q, k, w))
    return sum((q[:, :, i] @ k.mT).relu() * w[:, :, i, None] for i in range(q.shape[2]))


@repository.case(FOLDER + "dsa.py", "_compute_indexer_scores", **INDEXER, rtol=1e-4, atol=1e-4)
def indexer_scores(file, device, **sizes):
    x = _indexer(device, **sizes)
    return lambda: file.compute_indexer_scores(*x, causal=False), lambda: _scores(*x)


@repository.case(FOLDER + "dsa.py", "_lightning_indexer_fused_small_k, _fpval_to_key, _key_to_fpval", **INDEXER, rtol=1e-4, atol=1e-4, share=1e-3)  # fmt: skip
def indexer_top_keys(file, device, **sizes):
    """In the order of the keys. Scores that differ by a rounding may change places."""
    x = _indexer(device, **sizes)

    def want():
        scores = _scores(*x)
        ids = scores.topk(32, -1).indices.sort(-1).values
        return scores.gather(-1, ids), ids

    return lambda: file.lightning_indexer_fused(*x, 32, causal=False), want


@repository.case(FOLDER + "nsa.py", "_cmp_attn_fwd, _cmp_attn_bwd", small=dict(b=1, m=100, h=2, d=64), production=dict(b=1, m=4096, h=16, d=128), rtol=3e-2, atol=2e-2)  # fmt: skip
def compressed(file, device, b, m, h, d, length=32, stride=16, block=64):
    n = (m - length) // stride + 1
    q, up = (tm.normal(b, m, h, d, device=device, dtype=BF16) for _ in range(2))
    k, v = (tm.normal(b, n, h, d, device=device, dtype=BF16) for _ in range(2))
    blocks = -(-m // block)
    # The first queries see no key.
    up[:, : length - 1] = 0
    numbers = d**-0.5, length, stride, block, blocks

    def parts(out, scores, *grads):
        return out[:, length - 1 :], scores[:, length - 1 :], *grads

    def run():
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        out, scores = file.cmp_attention(*leaves, *numbers)
        grads = torch.autograd.grad(out, leaves, up)
        return parts(out.detach(), scores.detach(), *grads)

    def want():
        leaves = [x.double().requires_grad_() for x in (q, k, v)]
        a, b_, c = (x.transpose(1, 2) for x in leaves)
        ends = torch.arange(n, device=device) * stride + length - 1
        unseen = ends > torch.arange(m, device=device)[:, None]
        p = (a @ b_.mT * d**-0.5).masked_fill(unseen, -1e6).softmax(-1)
        out = (p @ c).transpose(1, 2)
        # A compressed key counts for each block that it is of.
        at, of = (
            torch.arange(n, device=device)[:, None] * stride,
            torch.arange(blocks, device=device),
        )  # noqa: E501
        overlaps = (at < (of + 1) * block) & (at + length > of * block)
        scores = p.detach() @ overlaps.double()
        grads = torch.autograd.grad(out, leaves, up.double())
        return parts(out.detach(), scores.transpose(1, 2), *grads)

    return run, want


def _window(name, bandwidth, kernels):
    def build(file, device, b, m, h, hk, d):
        q, up = (tm.normal(b, m, hk, h // hk, d, device=device, dtype=BF16) for _ in range(2))
        k, v = (tm.normal(b, m, hk, d, device=device, dtype=BF16) for _ in range(2))
        sinks = tm.normal(h, device=device, dtype=BF16)
        start = torch.zeros(1, dtype=torch.int32, device=device)

        def run():
            return file.attention(q, k, v, sinks, d**-0.5, bandwidth, start)

        def want():
            x = q.flatten(2, 3).transpose(1, 2)
            y = (y.transpose(1, 2) for y in (k, v))
            out, _ = tm.attention(x, *y, causal=True, window=bandwidth or None, sink=sinks)
            return out.transpose(1, 2).flatten(2)

        return run, want

    repository.case(FOLDER + "swa.py", kernels, small=dict(b=1, m=150, h=4, hk=2, d=64), production=dict(b=1, m=4096, h=32, hk=4, d=64), **NEAR, name=name)(build)  # fmt: skip


_window("window", 128, "_attn_fwd")
_window("all_keys", 0, "_attn_fwd")
