"""Forgetting Transformer: attention whose weights decay by gates, with blocks left out that have
decayed, and a shift of tokens, with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import PYTEST, Repository


def _rearrange(x, pattern, **_):
    """Of einops, what permutes."""
    before, after = (side.split() for side in pattern.split("->"))
    return x.permute(*(before.index(name) for name in after))


repository = Repository(
    "zhixuan-lin/forgetting-transformer", "883f260c636e87971339749b0d8310004794a5cc", packages={"forgetting_transformer": "src"},
    stand_ins={"einops": {"rearrange": _rearrange}, **PYTEST},
)  # fmt: skip
F16 = torch.float16


def _attention(q, k, v, gates):
    """Of tensors (b, n, h, d) and gates (b, n, h)."""
    q, k, v, decay = (x.transpose(1, 2) for x in (q, k, v, gates.cumsum(1)))
    s = q @ k.mT * q.shape[-1] ** -0.5 + decay[..., :, None] - decay[..., None, :]
    s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), -torch.inf)
    return (s.softmax(-1) @ v).transpose(1, 2)


for _name, _threshold in (("whole", None), ("pruned", "auto")):

    @repository.case("src/forgetting_transformer/ops/forgetting_attention.py", "_fwd_kernel, _bwd_preprocess, _bwd_kv_kernel, _bwd_q_kernel, _find_start_index_kernel", small=dict(b=1, n=150, h=2, d=32), production=dict(b=2, n=8192, h=16, d=64), rtol=2e-2, atol=2e-2, name=f"attention_{_name}")  # fmt: skip
    def attention(file, device, b, n, h, d, threshold=_threshold):
        q, k, v, up = (tm.normal(b, n, h, d, device=device, dtype=F16, scale=0.5) for _ in range(4))
        gates = torch.nn.functional.logsigmoid(tm.normal(b, n, h, device=device))

        def run():
            return tm.with_gradients(
                lambda *x: file.forgetting_attention(*x, adaptive_threshold=threshold), up, q, k, v, gates,
            )  # fmt: skip

        return run, lambda: tm.with_gradients(_attention, up, q, k, v, gates, exact=True)


@repository.case("src/forgetting_transformer/model/forgetting_transformer/token_shift.py", "shift_fwd_kernel, shift_bwd_kernel", small=dict(b=2, n=70, h=2, d=32), production=dict(b=4, n=4096, h=16, d=64), rtol=1e-3, atol=1e-3)  # fmt: skip
def token_shift(file, device, b, n, h, d):
    x, up = (tm.normal(b, n, h, d, device=device) for _ in range(2))
    before, now = (torch.rand(b, n, h).to(device) for _ in range(2))

    def exact(x, before, now):
        shifted = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
        return shifted * before[..., None] + x * now[..., None]

    return (
        lambda: tm.with_gradients(file.token_shift, up, x, before, now),
        lambda: tm.with_gradients(exact, up, x, before, now, exact=True),
    )
