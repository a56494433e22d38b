"""Protenix: triangle attention with two biases and its gradients, tuned by a tuner of its own."""

from __future__ import annotations

import tempfile
from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

_tuned = tempfile.TemporaryDirectory()  # an absolute path: what is tuned goes there

repository = Repository(
    "bytedance/Protenix",
    "3248f8e7e1c94f0b5835a40ebdc649d74d631a82",
    packages={"protenix": "."},
    stand_ins={"protenix.utils.distributed": {"DIST_WRAPPER": SimpleNamespace(rank=_tuned.name)}},
)


@repository.case("protenix/model/tri_attention/op.py", "_attention_fwd, _attention_bwd_preprocess, _attention_bwd_dkdv, _attention_bwd_dq, _attention_bwd_dbias2", small=dict(n=40, h=2, d=32), production=dict(n=384, h=4, d=32), rtol=2e-2, atol=3e-2)  # fmt: skip
def triangle_attention(file, device, n, h, d):
    q, k, v, up = (tm.normal(1, n, n, h, d, device=device, dtype=torch.bfloat16) for _ in range(4))
    q = q * d**-0.5
    masked = (torch.rand(1, n, 1, 1, n) < 0.2).to(device)
    first = torch.where(masked, -1e4, 0.0).to(torch.bfloat16)
    second = tm.normal(1, 1, h, n, n, device=device, dtype=torch.bfloat16)

    def right(q, k, v, second):
        q, k, v = (x.transpose(2, 3) for x in (q, k, v))
        return ((q @ k.mT + first.double() + second).softmax(-1) @ v).transpose(2, 3)

    run = file.TriAttentionFunction.apply
    return (
        lambda: tm.with_gradients(lambda q, k, v, b: run(q, k, v, first, b), up, q, k, v, second),
        lambda: tm.with_gradients(right, up, q, k, v, second, exact=True),
    )
