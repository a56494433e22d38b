"""Self attention of sequences of any length and attention in chunks, by block pointers."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("alexdremov/kernels", "c2eef0d59ffaefcc932c30a179a1d43b40b36474")
BF16 = torch.bfloat16
HALF = dict(rtol=2e-2, atol=2e-2)


def _lengths(b, n, device):
    return torch.tensor(tm.lengths(b, n), dtype=torch.int32, device=device)


def _padded(x, lens):
    """x with zeros behind the lengths. Shapes: x (B, H, T, D), lens (B)."""
    rows = torch.arange(x.shape[2], device=x.device)
    return x * (rows < lens[:, None])[:, None, :, None]


@repository.case("src/self_attention/kernel.py", "_self_attn_fwd", small=dict(b=3, h=2, n=150, d=64), production=dict(b=8, h=16, n=4096, d=64), **HALF)  # fmt: skip
def self_attention(file, device, b, h, n, d):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=BF16) for _ in range(3))
    lens = _lengths(b, n, device)

    def want():
        columns = torch.arange(n, device=device)
        bias = torch.where(columns < lens[:, None], 0.0, -torch.inf)[:, None, None]
        return _padded(tm.attention(q, k, v, bias=bias)[0], lens)

    run = file.attention_forward_adapter._init_fn  # its operator is one of CUDA tensors only
    return lambda: run(q, k, v, lens, d**-0.5, False, False), want


for _gradients, _precision in ((False, "ieee"), (True, "tf32")):

    @repository.case("src/streaming_attention/kernel.py", "_streaming_attn_fwd" + ", _streaming_attn_bwd_precompute, _streaming_attn_bwd, _streaming_attn_bwd_dq_inner, _streaming_attn_bwd_dkdv_inner" * _gradients, small=dict(b=2, h=2, n=150, d=32, chunk=20, back=2), production=dict(b=8, h=16, n=4096, d=64, chunk=64, back=8), name="in_chunks" + "_gradients" * _gradients, **HALF)  # fmt: skip
    def in_chunks(file, device, b, h, n, d, chunk, back, gradients=_gradients, precision=_precision):  # fmt: skip
        q, k, v = (tm.normal(b, h, n, d, device=device, dtype=BF16) for _ in range(3))
        lens = _lengths(b, n, device)
        upstream = _padded(tm.normal(b, h, n, d, device=device, dtype=BF16), lens)

        def run():
            more = chunk, back, d**-0.5, False
            o, lse = file.attention_forward_adapter._init_fn(q, k, v, lens, *more, True, False, precision)  # fmt: skip
            if not gradients:
                return _padded(o, lens)
            backward = file.attention_backward_adapter._init_fn
            grads = backward(q, k, v, lens, o, lse, upstream, *more, False, precision)
            return [_padded(o, lens), *grads]

        def exact(q, k, v):
            at = torch.arange(n, device=device)
            apart = at[:, None] // chunk - at // chunk
            seen = (apart >= 0) & (apart <= back) & (at < lens[:, None, None, None])
            s = (q @ k.mT * d**-0.5).masked_fill(~seen, -1e300)
            return _padded(s.softmax(-1) @ v, lens)

        if not gradients:
            return run, lambda: exact(q.double(), k.double(), v.double())
        return run, lambda: tm.with_gradients(exact, upstream, q, k, v, exact=True)
