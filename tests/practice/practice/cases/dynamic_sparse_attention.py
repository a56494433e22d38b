"""Dynamic sparse attention: keys of the same hash, or keys and queries that are left, in bf16."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("epfml/dynamic-sparse-flash-attention", "266f36a914216c439f5aa63e12b00fa8489fde95")  # fmt: skip
FOLDER = "openwebtext2-experiments/src/models/"
D = 64
HALF = dict(rtol=2e-2, atol=2e-2)
NONE = 1_000_000_000


def _inputs(b, h, n, device):
    return [tm.normal(b, h, n, D, device=device, dtype=torch.bfloat16) for _ in range(3)]


def _exact(q, k, v, seen):
    s = (q @ k.mT * D**-0.5).masked_fill(~seen, -torch.inf)
    return s.softmax(-1).nan_to_num() @ v


def _hashes(b, h, n, buckets, device):
    """Hashes in order, and where each stood."""
    return [x.to(torch.int32).to(device) for x in torch.randint(0, buckets, (b, h, n)).sort(dim=-1, stable=True)]  # fmt: skip


def _both(function, exact, upstream, inputs, gradients):
    if not gradients:
        return lambda: function(*inputs), lambda: exact(*(x.double() for x in inputs))
    return (
        lambda: tm.with_gradients(function, upstream, *inputs),
        lambda: tm.with_gradients(exact, upstream, *inputs, exact=True),
    )


for _gradients in (False, True):

    @repository.case(FOLDER + "hsparse_attn.py", "_fwd_kernel, _bwd_preprocess, _bwd_kernel" if _gradients else "_fwd_kernel", small=dict(b=1, h=2, n=256 if _gradients else 200, buckets=3), production=dict(b=8, h=16, n=2048, buckets=16), name="same_hash" + "_gradients" * _gradients, **HALF)  # fmt: skip
    def same_hash(file, device, b, h, n, buckets, gradients=_gradients):
        inputs = _inputs(b, h, n, device)
        (qh, qi), (kh, ki) = (_hashes(b, h, n, buckets, device) for _ in range(2))
        seen = (qi[..., :, None] > ki[..., None, :]) & (qh[..., :, None] == kh[..., None, :])

        def function(q, k, v):
            return file._attention.apply(q, k, v, qi, ki, qh, kh, D**-0.5)

        upstream = tm.normal(b, h, n, D, device=device, dtype=torch.bfloat16)
        return _both(function, lambda q, k, v: _exact(q, k, v, seen), upstream, inputs, gradients)

    @repository.case(FOLDER + "qksparse_attn.py", "_fwd_kernel, _bwd_preprocess, _bwd_kernel" if _gradients else "_fwd_kernel", small=dict(b=1, h=2, n=200), production=dict(b=8, h=16, n=2048), name="some_keys" + "_gradients" * _gradients, **HALF)  # fmt: skip
    def some_keys(file, device, b, h, n, gradients=_gradients):
        inputs = _inputs(b, h, n, device)

        def left(padding):
            indices = torch.stack([torch.randperm(3 * n)[:n].sort().values for _ in range(b * h)])
            indices[:, n - n // 10 :] = padding
            return indices.view(b, h, n).to(torch.int32).to(device)

        qi, ki = left(-1), left(NONE)
        seen = qi[..., :, None] >= ki[..., None, :]

        def function(q, k, v):
            return file._attention.apply(q, k, v, qi, ki, D**-0.5)

        upstream = tm.normal(b, h, n, D, device=device, dtype=torch.bfloat16)
        return _both(function, lambda q, k, v: _exact(q, k, v, seen), upstream, inputs, gradients)
