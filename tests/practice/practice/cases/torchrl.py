"""TorchRL: GRU and LSTM over time with resets, whole steps in one program, or one launch a step."""

from __future__ import annotations

import importlib.metadata
from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("pytorch/rl", "ae9719f17b1517af5c2523a36c4616f003ee55cf", packages={"torchrl": "."}, stand_ins={"packaging": {"version": SimpleNamespace(parse=str)}})  # fmt: skip
FILE = "torchrl/modules/tensordict_module/_rnn_triton.py"

_version = importlib.metadata.version
importlib.metadata.version = lambda name: "3.5.0" if name == "triton" else _version(name)


def _states(step, x, resets, is_init):
    """``step(x, states)`` over time, from the states of ``resets`` where one begins."""
    states, outputs = [r[:, 0] for r in resets], []
    for t in range(x.shape[1]):
        begins = is_init[:, t, None]
        states = [torch.where(begins, r[:, t], s) for r, s in zip(resets, states, strict=True)]
        states = step(x[:, t], states)
        outputs.append(states[0])
    return torch.stack(outputs, 1)


def _gru(x, h, w_ih, w_hh, b_ih, b_hh, is_init):
    def step(x, states):
        r, z, n = (x @ w_ih.T + b_ih).chunk(3, -1)
        a, b, c = (states[0] @ w_hh.T + b_hh).chunk(3, -1)
        z = torch.sigmoid(z + b)
        n = torch.tanh(n + torch.sigmoid(r + a) * c)
        return [n + z * (states[0] - n)]

    return _states(step, x, [h], is_init)


def _lstm(x, h, c, w_ih, w_hh, b_ih, b_hh, is_init):
    def step(x, states):
        i, f, g, o = (x @ w_ih.T + b_ih + states[0] @ w_hh.T + b_hh).chunk(4, -1)
        c = torch.sigmoid(f) * states[1] + torch.sigmoid(i) * torch.tanh(g)
        return [torch.sigmoid(o) * torch.tanh(c), c]

    return _states(step, x, [h, c], is_init)


# In the kernels of whole sequences a lane reads in a step what another one stored in the step
# before, with nothing that orders them.
RACE = "race-warp-order"
for _name, _gates, _exact in (("gru", 3, _gru), ("lstm", 4, _lstm)):
    for _kernels, _more, _small, _large in (
        ("fwd_kernel", "", dict(b=20, t=5, i=8, h=30), dict(b=2048, t=64, i=64, h=128)),
        ("fwd_kernel, _{}_bwd_kernel", "_gradients", dict(b=20, t=5, i=8, h=30), dict(b=2048, t=64, i=64, h=128)),
        ("fwd_step_tiled_h_kernel", "_by_steps", dict(b=5, t=3, i=8, h=500), dict(b=1024, t=8, i=64, h=1024)),
    ):  # fmt: skip

        @repository.case(FILE, f"_{_name}_" + _kernels.format(_name), small=_small, production=_large, name=_name + _more, rtol=2e-2, atol=5e-3, finds="" if _more == "_by_steps" else RACE)  # fmt: skip
        def recurrent(file, device, b, t, i, h, name=_name, gates=_gates, exact=_exact, grad=_more == "_gradients"):  # fmt: skip
            resets = [tm.normal(b, t, h, device=device) for _ in range(gates - 2)]
            inputs = [
                tm.normal(b, t, i, device=device), *resets,
                *(tm.normal(gates * h, k, device=device, scale=h**-0.5) for k in (i, h)),
                *(tm.normal(gates * h, device=device) for _ in range(2)),
            ]  # fmt: skip
            is_init = (torch.rand(b, t) < 0.2).to(device)
            upstream = tm.normal(b, t, h, device=device)

            def triton(*leaves):
                function = file.gru_triton if name == "gru" else file.lstm_triton
                return function(*leaves, is_init, input_precision="tf32")[0]

            def right(*leaves):
                return exact(*leaves, is_init)

            if grad:
                return (
                    lambda: tm.with_gradients(triton, upstream, *inputs),
                    lambda: tm.with_gradients(right, upstream, *inputs, exact=True),
                )
            return lambda: triton(*inputs), lambda: right(*(x.double() for x in inputs))
