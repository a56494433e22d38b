"""unilm: the gated recurrence of chunks of YOCO, forward and backward."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "microsoft/unilm", "768a3c873f598bb9b4d4dfb9267b099e35f8fe56", packages={"yoco": "YOCO"}
)
SMALL, LARGE = dict(b=1, h=2, n=5, k=64, v=32), dict(b=4, h=16, n=32, k=128, v=256)


def _recurrence(kv, decay, last=None):
    state = kv.new_zeros(kv[:, :, 0].shape) if last is None else last
    states = [state]
    for i in range(kv.shape[2] - 1):
        state = state * decay[:, :, i, None, None] + kv[:, :, i]
        states.append(state)
    return torch.stack(states, 2)


def _case(with_last):
    def build(file, device, b, h, n, k, v):
        kv, decay = tm.normal(b, h, n, k, v, device=device), torch.rand(b, h, n).to(device)
        last = [tm.normal(b, h, k, v, device=device)] if with_last else []
        upstream = torch.randn(b, h, n, k, v).to(device)
        return (
            lambda: tm.with_gradients(file.chunk_gate_recurrent, upstream, kv, decay, *last),
            lambda: tm.with_gradients(_recurrence, upstream, kv, decay, *last, exact=True),
        )

    return build


for _name, _with_last in (("gate_recurrent", False), ("gate_recurrent_last", True)):
    repository.case("YOCO/yoco/models/decoder/kernel/gate_recurrent.py", "_fwd_recurrence, _bwd_recurrence", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-3, name=_name)(_case(_with_last))  # fmt: skip
