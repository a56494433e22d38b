"""hydragen: attention to a shared prefix and to what follows it, joined by their sums."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository


def _rearrange(x, pattern, **sizes):
    return x.view(*sizes.values(), -1) if sizes else x.flatten(0, 2)


repository = Repository("ScalingIntelligence/hydragen", "1ea2255db0778f5cf47a4f72a535dc77a8b6b7bd", stand_ins={"hydragen.flash": {}, "einops": {"rearrange": _rearrange}})  # fmt: skip


@repository.case("hydragen/attention.py", "combine_lse_kernel", small=dict(b=3, s=5, h=3, d=64), production=dict(b=64, s=128, h=32, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def combine(file, device, b, s, h, d):
    x, y = (tm.normal(b, s, h, d, device=device, dtype=torch.float16) for _ in range(2))
    lse = [tm.normal(b, s, h, device=device, scale=3.0) for _ in range(2)]

    def want():
        weights = torch.stack(lse, -1).double().softmax(-1)
        return x.double() * weights[..., :1] + y.double() * weights[..., 1:]

    return lambda: file.combine_lse_triton(x, lse[0], y, lse[1]), want
