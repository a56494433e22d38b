"""gpt-oss: attention with learned sinks by tensor descriptors that the host makes."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("openai/gpt-oss", "7b583341fe16729127f6d5b94a7b09ccae97e1a1")


def _attention(window):
    def build(file, device, b, lq, lk, heads, groups, d):
        start = lk - lq
        half = torch.bfloat16
        q = tm.normal(b, lq, heads, groups, d, device=device, dtype=half)
        k, v = (tm.normal(b, lk, heads, d, device=device, dtype=half) for _ in range(2))
        sinks = tm.normal(heads * groups, device=device, dtype=half)
        first = torch.tensor([start], dtype=torch.int32, device=device)

        def want():
            given = q.flatten(2, 3).transpose(1, 2).cpu()
            keys, values = (x.transpose(1, 2).cpu() for x in (k, v))
            out, _ = tm.attention(given, keys, values, causal=True, window=window, sink=sinks.cpu())
            return out.transpose(1, 2).flatten(2)

        return lambda: file.attention(q, k, v, sinks, d**-0.5, window, first), want

    return build


for _name, _window in (("sinks", None), ("sinks_banded", 40)):
    repository.case("gpt_oss/triton/attention.py", "_attn_fwd", small=dict(b=1, lq=100, lk=100, heads=2, groups=2, d=64), production=dict(b=1, lq=4096, lk=4096, heads=8, groups=8, d=64), rtol=2e-2, atol=2e-2, name=_name)(_attention(_window))  # fmt: skip
