"""LightSeq: attention to keys that are spread over machines: one part after the other, and results
of two machines put together."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import PYTEST, Repository

repository = Repository(
    "RulinShao/LightSeq",
    "8f486dad3d0670057dfbe3b30c003080b61c5325",
    stand_ins={"async_communication": {}, "einops": {}, "tqdm": {}, **PYTEST},
)
FILE = "lightseq/lightseq_async_attn.py"
SMALL, PRODUCTION = dict(b=1, heads=2, n=256, d=64), dict(b=1, heads=32, n=2048, d=128)


def _state(q):
    """The largest scores, sums and results so far, and logarithms of sums."""
    b, heads, n, _ = q.shape
    zeros = torch.zeros(b * heads, n, device=q.device)
    return torch.full_like(zeros, -torch.inf), zeros, torch.zeros_like(q), zeros.clone()


def _add(file, q, k, v, state, causal, last):
    b, heads, n, d = q.shape
    file._fwd_kernel[(-(-n // 128), b * heads, 1)](
        q, k, v, d**-0.5, *state, *q.stride(), *k.stride(), *v.stride(), *q.stride(),
        b, heads, n, BLOCK_M=128, BLOCK_N=64, BLOCK_DMODEL=d, IS_CAUSAL=causal, LAST_STEP=last,
        num_warps=4 if d <= 64 else 8, num_stages=4,
    )  # fmt: skip


def _inputs(b, heads, n, d, device):
    """Queries, their own keys and values, and those of a machine before."""
    return [tm.normal(b, heads, n, d, device=device, dtype=torch.float16) for _ in range(5)]


def _want(q, k, v, k_before, v_before):
    keys, values = (torch.cat(pair, 2) for pair in ((k_before, k), (v_before, v)))
    y, logarithm = tm.attention(q, keys, values, causal=True)
    return y, logarithm.flatten(0, 1)


@repository.case(FILE, "_fwd_kernel", small=SMALL, production=PRODUCTION, rtol=1e-2, atol=1e-2)  # fmt: skip
def parts(file, device, b, heads, n, d):
    q, k, v, k_before, v_before = _inputs(b, heads, n, d, device)

    def run():
        state = _state(q)
        _add(file, q, k, v, state, True, False)
        _add(file, q, k_before, v_before, state, False, True)
        return state[2:]

    return run, lambda: _want(q, k, v, k_before, v_before)


@repository.case(FILE, "_fwd_kernel, _rescale_kernel", small=SMALL, production=PRODUCTION, rtol=1e-2, atol=1e-2)  # fmt: skip
def parts_put_together(file, device, b, heads, n, d):
    q, k, v, k_before, v_before = _inputs(b, heads, n, d, device)

    def run():
        own, other = _state(q), _state(q)
        _add(file, q, k, v, own, True, False)
        _add(file, q, k_before, v_before, other, False, False)
        (m, l, o, logarithm), (peer_m, peer_l, peer_o, _) = own, other
        file._rescale_kernel[(-(-n // 128), b * heads, 1)](
            peer_m, m, peer_l, l, peer_o, o, logarithm, *o.stride(), b, heads, n,
            BLOCK_M=128, BLOCK_N=64, BLOCK_DMODEL=d, LAST_STEP=True,
            num_warps=4 if d <= 64 else 8, num_stages=4,
        )  # fmt: skip
        return o, logarithm

    return run, lambda: _want(q, k, v, k_before, v_before)
