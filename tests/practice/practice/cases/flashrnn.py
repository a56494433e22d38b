"""FlashRNN: LSTM and sLSTM with a recurrent matrix for each head, all steps in one launch."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository


def _rearrange(x, pattern, **_):
    """Of einops, what permutes."""
    before, after = (side.split() for side in pattern.split("->"))
    return x.permute(*(before.index(name) for name in after))


repository = Repository(
    "NX-AI/flashrnn", "d73fb52b1b492ce9f9b2c107660b49079add5eb1",
    packages={"flashrnn": "flashrnn"}, stand_ins={"einops": {"rearrange": _rearrange}},
)  # fmt: skip


def _lstm(initial, wx, r, bias):
    h, c = initial
    states = []
    for t in range(wx.shape[1]):
        i, f, z, o = (
            wx[:, t, g] + torch.einsum("bhi,hoi->bho", h, r[g]) + bias[g] for g in range(4)
        )
        c = f.sigmoid() * c + i.sigmoid() * z.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(torch.stack([h, c]))
    return torch.stack(states)


def _slstm(initial, wx, r, bias):
    h, c, n, m = initial
    states = []
    for t in range(wx.shape[1]):
        i, f, z, o = (
            wx[:, t, g] + torch.einsum("bhi,hoi->bho", h, r[g]) + bias[g] for g in range(4)
        )
        kept = torch.nn.functional.logsigmoid(f) + m
        m = torch.where(n == 0, i, torch.maximum(i, kept)).detach()
        i, f = (i - m).exp(), (kept - m).exp()
        c, n = f * c + i * z.tanh(), f * n + i
        h = o.sigmoid() * c / n
        states.append(torch.stack([h, c, n, m]))
    return torch.stack(states)


for _kind, _steps, _count in (("lstm", _lstm, 2), ("slstm", _slstm, 4)):

    @repository.case("flashrnn/flashrnn/triton_fused/fwbw.py", "_forward_sequence_kernel, _backward_sequence_kernel, triton_tanh", small=dict(b=5, t=6, h=2, d=16), production=dict(b=32, t=256, h=12, d=64), rtol=2e-3, atol=2e-3, name=_kind)  # fmt: skip
    def recurrence(file, device, b, t, h, d, kind=_kind, steps=_steps, count=_count):
        initial = torch.zeros(count, b, h, d, device=device)
        wx = tm.normal(b, t, 4, h, d, device=device)
        r, bias = tm.normal(4, h, d, d, device=device, scale=d**-0.5), tm.normal(4, h, d, device=device)  # fmt: skip
        up = tm.normal(t, b, h, d, device=device)
        apply = getattr(file, f"{kind}_tr_fwbw")

        def run():
            return tm.with_gradients(
                lambda *x: apply(initial, *x, None, "float32")[0][:, 0], up, wx, r, bias
            )

        def want():
            return tm.with_gradients(
                lambda *x: steps(initial.double(), *x)[:, 0], up, wx, r, bias, exact=True
            )

        return run, want
