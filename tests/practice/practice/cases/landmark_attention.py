"""Landmark attention: each block of keys gets the weight of its last key."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("epfml/landmark-attention", "d963e504fa2424687c6cbd412b54f1626e832292")
FILE = "llama/ltriton/flash_landmark_attention.py"
HALF = dict(rtol=2e-2, atol=2e-2)


def _exact(q, k, v, block):
    s = q @ k.mT * q.shape[-1] ** -0.5
    nq, n = s.shape[-2:]
    rows = torch.arange(nq, device=s.device)[:, None] + n - nq
    columns = torch.arange(n, device=s.device)
    is_mark = columns % block == block - 1
    own = rows // block == columns // block
    last = rows - (rows % block == block - 1).to(rows.dtype)
    first = (own & (columns <= last)) | (is_mark & (columns // block < rows // block))
    p = s.masked_fill(~first, -torch.inf).softmax(-1)
    inside = s.masked_fill(is_mark, -torch.inf).unflatten(-1, (-1, block)).softmax(-1)
    marks = (p * ~own)[..., block - 1 :: block]
    return ((p * own) + (marks[..., None] * inside).flatten(-2)) @ v


for _gradients in (False, True):

    @repository.case(FILE, "_fwd_kernel, _bwd_preprocess, _bwd_kernel" if _gradients else "_fwd_kernel", small=dict(b=1, h=2, nq=128, n=192, d=32), production=dict(b=4, h=32, nq=2048, n=2560, d=128), name="attention" + "_gradients" * _gradients, **HALF)  # fmt: skip
    def attention(file, device, b, h, nq, n, d, gradients=_gradients):
        q, k, v = (tm.normal(b, h, x, d, device=device, dtype=torch.float16) for x in (nq, n, n))
        upstream = tm.normal(b, h, nq, d, device=device, dtype=torch.float16)
        marks = (torch.arange(n) % 64 == 63).to(device)

        def function(q, k, v):
            return file.fused_landmark_attention(q, k, v, marks, block_size=64)

        if not gradients:
            return lambda: function(q, k, v), lambda: _exact(q.double(), k.double(), v.double(), 64)
        return (
            lambda: tm.with_gradients(function, upstream, q, k, v),
            lambda: tm.with_gradients(lambda *x: _exact(*x, 64), upstream, q, k, v, exact=True),
        )
