"""Metta (Cortex): layers with a memory that start again at given steps, for agents that play one
episode after another: a causal convolution that mixes channels, and an LSTM."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Metta-AI/metta", "a8d1ecee19252b26b9351de23a628b372b19dfb6")
FOLDER = "packages/cortex/src/cortex/kernels/triton/"


@repository.case(FOLDER + "conv1d/channel_mixing.py", "_fwd_cm_kernel, _bwd_cm_dx_kernel, _bwd_cm_dw_kernel, _bwd_cm_bias_kernel", small=dict(b=2, n=37, d=24, e=20, taps=3), production=dict(b=4, n=1024, d=1024, e=1024, taps=3), rtol=2e-2, atol=2e-2)  # fmt: skip
def convolution(file, device, b, n, d, e, taps):
    """With its gradients; those of the weights are divided by what they grow with."""
    state, x = (tm.normal(b, m, d, device=device) for m in (taps, n))
    weight = tm.normal(e, d, taps, device=device, scale=(d * taps) ** -0.5)
    bias, up = tm.normal(e, device=device), tm.normal(b, n, e, device=device)
    resets = (torch.rand(b, n) < 0.1).to(device)

    def ours(*inputs):
        return file.channelmix_causal_conv1d_with_resets_triton(*inputs, resets)

    def right(state, x, weight, bias):
        rows = torch.cat([state, x], 1)
        episode = torch.cat([resets.new_zeros(b, taps), resets], 1).cumsum(1)
        out = bias
        for back in range(taps):
            past = rows[:, taps - back : taps - back + n]
            is_same = episode[:, taps - back : taps - back + n] == episode[:, taps:]
            out = out + (past * is_same[..., None]) @ weight[:, :, taps - 1 - back].T
        return out

    def scaled(results):
        return [r / (b * n) ** 0.5 if i in (3, 4) else r for i, r in enumerate(results)]

    inputs = state, x, weight, bias
    return (
        lambda: scaled(tm.with_gradients(ours, up, *inputs)),
        lambda: scaled(tm.with_gradients(right, up.double(), *inputs, exact=True)),
    )


LSTM = dict(small=dict(b=5, n=6, d=16), production=dict(b=2048, n=64, d=32), rtol=2e-2, atol=2e-2)


def _lstm(x, state, resets, w, r, w_bias, r_bias):
    """All states, and the last cell."""
    h, c = (s[:, 0].to(x.dtype) for s in state)
    rows = []
    for t in range(x.shape[1]):
        keep = ~resets[:, t, None]
        h, c = h * keep, c * keep
        i, f, g, o = (x[:, t] @ w.T + w_bias + h @ r.T + r_bias).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        rows.append(h)
    return torch.stack(rows, 1), c


def _lstm_inputs(b, n, d, device):
    module = torch.nn.LSTM(d, d, batch_first=True).to(device)
    x, up = (tm.normal(b, n, d, device=device) for _ in range(2))
    state = [tm.normal(b, 1, d, device=device) for _ in range(2)]
    return module, x, up, state, (torch.rand(b, n) < 0.2).to(device)


@repository.case(FOLDER + "lstm.py", "_lstm_forward_kernel, _triton_tanh", **LSTM)
def lstm(file, device, b, n, d):
    module, x, _, state, resets = _lstm_inputs(b, n, d, device)

    def run():
        with torch.no_grad():
            out, h, c = file.lstm_sequence_triton(
                lstm=module, x_seq=x, h0_bf=state[0], c0_bf=state[1], resets=resets
            )
        return out, h[:, 0], c[:, 0]

    def want():
        weights = (p.detach().double() for p in module.parameters())
        out, c = _lstm(x.double(), state, resets, *weights)
        return out, out[:, -1], c

    return run, want


# The second pass reads cells that the next step has made 0, so only the first step starts again.
@repository.case(FOLDER + "lstm.py", "_lstm_forward_kernel, _lstm_backward_kernel, _triton_tanh", **LSTM)  # fmt: skip
def lstm_gradients(file, device, b, n, d):
    """Of the input and of the weights, the latter divided by what they grow with."""
    module, x, up, state, resets = _lstm_inputs(b, n, d, device)
    resets[:, 1:] = False

    def scaled(grads):
        return [g / (b * n) ** 0.5 if i else g for i, g in enumerate(grads)]

    def run():
        given = x.clone().requires_grad_()
        out = file.lstm_sequence_triton(
            lstm=module, x_seq=given, h0_bf=state[0], c0_bf=state[1], resets=resets
        )[0]
        return scaled(torch.autograd.grad(out, [given, *module.parameters()], up))

    def want():
        weights = (p.detach() for p in module.parameters())
        results = tm.with_gradients(
            lambda x, *w: _lstm(x, state, resets, *w)[0], up.double(), x, *weights, exact=True
        )
        return scaled(results[1:])

    return run, want
