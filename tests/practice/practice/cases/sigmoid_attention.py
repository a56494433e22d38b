"""triton-sigmoid: attention with a sigmoid in place of the softmax, with gradients."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("MSDLLCpapers/triton-sigmoid", "9ea924eff22941b26a5d28fbfc4aa0e0621ff509", packages={"triton_sigmoid": "src"})  # fmt: skip
PLACE = "src/triton_sigmoid/sigmoid_triton_"
HALF = dict(rtol=2e-2, atol=2e-2)
SIZES = dict(small=dict(b=2, h=2, n=100, d=64), production=dict(b=4, h=16, n=4096, d=64))


def _right(q, k, v, causal, lengths=None):
    b, n, _, d = q.shape
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    bias = -math.log(n) if lengths is None else -torch.log(lengths.double()).view(b, 1, 1, 1)
    p = torch.sigmoid(q @ k.mT * d**-0.5 + bias)
    if causal:
        p = p.tril()
    if lengths is not None:
        p = p * (torch.arange(n, device=q.device) < lengths.view(b, 1, 1, 1))
    return (p @ v).transpose(1, 2)


def _inputs(b, h, n, d, device):
    return [tm.normal(b, n, h, d, device=device, dtype=torch.float16) for _ in range(4)]


for _causal in (False, True):

    @repository.case(f"{PLACE}dense.py", "_fwd_dense_kernel, _bwd_dense_dq_kernel, _bwd_dense_dkdv_kernel", name="dense" + "_causal" * _causal, **SIZES, **HALF)  # fmt: skip
    def dense(file, device, b, h, n, d, causal=_causal):
        q, k, v, up = _inputs(b, h, n, d, device)
        return (
            lambda: tm.with_gradients(lambda *x: file.sigmoid_attention(*x, is_causal=causal), up, q, k, v),
            lambda: tm.with_gradients(lambda *x: _right(*x, causal), up, q, k, v, exact=True),
        )  # fmt: skip


@repository.case(f"{PLACE}padded.py", "_fwd_padded_kernel, _bwd_padded_dq_kernel, _bwd_padded_dkdv_kernel", **SIZES, **HALF)  # fmt: skip
def padded(file, device, b, h, n, d):
    q, k, v, up = _inputs(b, h, n, d, device)
    lengths = torch.tensor([n - 17 * i for i in range(b)], dtype=torch.int32, device=device)
    return (
        lambda: tm.with_gradients(lambda *x: file.sigmoid_attention_padded(*x, seq_lens_k=lengths), up, q, k, v),
        lambda: tm.with_gradients(lambda *x: _right(*x, False, lengths), up, q, k, v, exact=True),
    )  # fmt: skip
