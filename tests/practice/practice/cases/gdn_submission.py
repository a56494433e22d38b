"""gdn-submission: the gated delta rule over sequences, token by token, first for the states at the
beginning of chunks and then for the outputs of each chunk; and a step of it."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Saurabh-66/gdn-submission", "166921f18e76b81730222792fbbd1f7808ceede0")
BF16 = torch.bfloat16
CLOSE = dict(rtol=1e-2, atol=2e-3)


def _inputs(rows, n, hq, hv, d, device):
    q, k = (F.normalize(torch.randn(*rows, hq, d), dim=-1).to(BF16).to(device) for _ in range(2))
    v, state = tm.normal(*rows, hv, d, device=device, dtype=BF16), tm.normal(n, hv, d, d, device=device)  # fmt: skip
    decay, bias = (tm.normal(hv, device=device) for _ in range(2))
    a, rate = (tm.normal(*rows, hv, device=device, dtype=BF16) for _ in range(2))
    return q, k, v, state, decay, a, bias, rate


def _steps(q, k, v, state, decay, a, bias, rate):
    """One after the other along the first axis, for a state (..., heads, values, keys)."""
    q, k, v, state, decay, a, bias, rate = (x.double() for x in (q, k, v, state, decay, a, bias, rate))  # fmt: skip
    q, k = (x.repeat_interleave(v.shape[-2] // q.shape[-2], -2) for x in (q, k))
    gate, rate = torch.exp(-decay.exp() * F.softplus(a + bias)), rate.sigmoid()
    rows = []
    for t in range(len(q)):
        state = state * gate[t, ..., None, None]
        delta = rate[t, ..., None] * (v[t] - (state @ k[t, ..., None])[..., 0])
        state = state + delta[..., None] * k[t, ..., None, :]
        rows.append((state @ q[t, ..., None])[..., 0] * q.shape[-1] ** -0.5)
    return torch.stack(rows), state


@repository.case("solution/triton/kernel1.py", "_chunk_state_kernel, _chunk_output_kernel", small=dict(lengths=(70, 5), hq=1, hv=2, d=16), production=dict(lengths=(512, 100, 300, 450), hq=4, hv=8, d=128), **CLOSE)  # fmt: skip
def prefill(file, device, lengths, hq, hv, d):
    n, total = len(lengths), sum(lengths)
    q, k, v, state, decay, a, bias, rate = _inputs((total,), n, hq, hv, d, device)
    starts = tm.starts(list(lengths), device, torch.int64)

    def run():
        out, new = torch.empty_like(v), torch.empty_like(state)
        return file.kernel(q, k, v, state, decay, a, bias, rate, starts, d**-0.5, out, new)

    def want():
        parts = [x.split(list(lengths)) for x in (q, k, v, a, rate)]
        results = [_steps(*(x[i] for x in parts[:3]), state[i], decay, parts[3][i], bias, parts[4][i]) for i in range(n)]  # fmt: skip
        return torch.cat([out for out, _ in results]), torch.stack([s for _, s in results])

    return run, want


@repository.case("solution/triton/kernel.py", "_gdn_decode_kernel", small=dict(b=3, hq=1, hv=2, d=16), production=dict(b=128, hq=4, hv=8, d=128), **CLOSE)  # fmt: skip
def decode(file, device, b, hq, hv, d):
    q, k, v, state, decay, a, bias, rate = _inputs((b, 1), b, hq, hv, d, device)

    def run():
        out, new = torch.empty_like(v), torch.empty_like(state)
        return file.kernel(q, k, v, state, decay, a, bias, rate, d**-0.5, out, new)

    def want():
        out, new = _steps(*(x.transpose(0, 1) for x in (q, k, v)), state, decay, a.transpose(0, 1), bias, rate.transpose(0, 1))  # fmt: skip
        return out.transpose(0, 1), new

    return run, want
