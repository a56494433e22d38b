"""Attention gym: attention to chosen keys and a window, and prefix sums of bounded gates."""

from __future__ import annotations

from unittest import mock

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("meta-pytorch/attention-gym", "7fdb85d0b96668397adee48de54b6f1036497717", packages={"attn_gym": "."})  # fmt: skip
SELECTED = "attn_gym/sparse/selected_attention/impl/triton/"


def _inputs(device, b, h, t, d, keys, top, dtype=torch.float32, shared=False):
    """Some of the chosen keys do not count."""
    q = tm.normal(b, h, t, d, device=device, dtype=dtype)
    chosen = tm.normal(b, 1 if shared else h, keys, d, device=device, dtype=dtype)
    near = tm.normal(b, 1 if shared else h, t, d, device=device, dtype=dtype)
    ids = tm.integers(-1, keys, b, t, top, device=device)
    sink = tm.normal(h, device=device)
    texts = (torch.arange(t) * 3 // t).expand(b, t).contiguous().to(device)
    return q, chosen, near, ids, sink, texts


def _attention(q, chosen, near, sink, ids, texts, window):
    t, scale = q.shape[2], q.shape[-1] ** -0.5
    chosen, near = (x.expand(-1, q.shape[1], -1, -1) for x in (chosen, near))
    rows = torch.arange(t, device=q.device)
    seen = (rows <= rows[:, None]) & (rows > rows[:, None] - window)
    seen = seen & (texts[:, None, :, None] == texts[:, None, None])
    local = (q @ near.mT * scale).masked_fill(~seen, float("-inf"))
    picked = torch.stack([c[:, i.clamp(min=0)] for c, i in zip(chosen, ids, strict=True)])
    far = torch.einsum("bhtd,bhtkd->bhtk", q, picked) * scale
    far = far.masked_fill(ids[:, None] < 0, float("-inf"))
    column = sink[None, :, None, None].expand(*local.shape[:3], 1)
    p = torch.cat([local, far, column], -1).softmax(-1)
    return p[..., :t] @ near + torch.einsum("bhtk,bhtkd->bhtd", p[..., t:-1], picked)


def _forward(file, device, window, **size):
    q, chosen, near, ids, sink, texts = _inputs(device, **size)

    def run():
        all_heads = (x.expand(-1, q.shape[1], -1, -1) for x in (chosen, near))
        return file._launch_forward(q, *all_heads, ids, sink, texts, window)[0]

    inputs = [x.double() for x in (q, chosen, near, sink)]
    return run, lambda: _attention(*inputs, ids, texts, window)


@repository.case(SELECTED + "forward.py", "_selected_attention_fwd_tma", rtol=1e-3, atol=1e-3, small=dict(b=1, h=2, t=100, d=32, keys=30, top=5, window=40), production=dict(b=1, h=16, t=2048, d=64, keys=512, top=16, window=512))  # fmt: skip
def with_descriptors(file, device, **size):
    return _forward(file, device, **size)


@repository.case(SELECTED + "forward.py", "_selected_attention_fwd", rtol=1e-3, atol=1e-3, small=dict(b=2, h=2, t=90, d=18, keys=30, top=4, window=20), production=dict(b=1, h=16, t=2048, d=50, keys=512, top=16, window=256))  # fmt: skip
def with_pointers(file, device, **size):
    """Rows that no descriptor can describe."""
    return _forward(file, device, **size)


@repository.case(SELECTED + "forward.py", "_selected_attention_fwd_shared", rtol=2e-2, atol=2e-2, small=dict(b=1, h=16, t=20, d=32, keys=30, top=20, window=70), production=dict(b=1, h=32, t=1024, d=128, keys=512, top=64, window=512))  # fmt: skip
def keys_of_all_heads(file, device, **size):
    """As where the file finds a newer GPU."""
    kernel = file._selected_attention_fwd_shared
    kernel.configs = kernel.configs[:1]
    run, want = _forward(file, device, dtype=torch.bfloat16, shared=True, **size)

    def with_newer_gpu():
        with mock.patch.object(torch.cuda, "get_device_capability", lambda *_: (10, 0)):
            return run()

    return with_newer_gpu, want


@repository.case(SELECTED + "backward.py", "_selected_attention_bwd_dq, _selected_attention_bwd_dlocal_kv_tma, _selected_attention_bwd_dsparse_kv", rtol=2e-3, atol=2e-3, small=dict(b=1, h=2, t=100, d=32, keys=30, top=5, window=40), production=dict(b=1, h=16, t=2048, d=64, keys=512, top=16, window=512))  # fmt: skip
def gradients(file, device, window, **size):
    q, chosen, near, ids, sink, texts = _inputs(device, **size)
    up = tm.normal(*q.shape, device=device)
    exact = [x.double().requires_grad_() for x in (q, chosen, near, sink)]
    out = _attention(*exact, ids, texts, window)
    grads = torch.autograd.grad(out, exact, up.double())
    with torch.no_grad():
        logs = _sums(*exact, ids, texts, window).float()
    out = out.detach().float()

    def run():
        of_keys = file._build_index_query_map(ids, chosen.shape[2])
        return file._launch_backward(
            q, chosen, near, ids, *of_keys, sink, texts, out, logs, up, window, False
        )

    return run, lambda: grads


def _sums(q, chosen, near, sink, ids, texts, window):
    """The logarithms of the sums: what attention gives for values that are one in one column."""
    t, scale = q.shape[2], q.shape[-1] ** -0.5
    rows = torch.arange(t, device=q.device)
    seen = (rows <= rows[:, None]) & (rows > rows[:, None] - window)
    seen = seen & (texts[:, None, :, None] == texts[:, None, None])
    local = (q @ near.mT * scale).masked_fill(~seen, float("-inf"))
    picked = torch.stack([c[:, i.clamp(min=0)] for c, i in zip(chosen, ids, strict=True)])
    far = torch.einsum("bhtd,bhtkd->bhtk", q, picked) * scale
    far = far.masked_fill(ids[:, None] < 0, float("-inf"))
    column = sink[None, :, None, None].expand(*local.shape[:3], 1)
    return torch.cat([local, far, column], -1).logsumexp(-1)


@repository.case("attn_gym/linear/kda/fwd/triton/gate_fwd.py", "_bounded_gate_chunk_cumsum_dense_kernel", rtol=1e-4, atol=1e-3, small=dict(b=2, t=70, h=3, d=40, chunk=32), production=dict(b=2, t=8192, h=32, d=128, chunk=64))  # fmt: skip
def sums_of_gates(file, device, b, t, h, d, chunk):
    gate = tm.normal(b, t, h, d, device=device, dtype=torch.bfloat16)
    logs, bias = tm.normal(h, device=device), tm.normal(h, d, device=device)

    def want():
        x = -5.0 * (logs.double().exp()[:, None] * (gate.double() + bias.double())).sigmoid()
        parts = [part.cumsum(1) for part in x.split(chunk, 1)]
        return torch.cat(parts, 1) * 1.4426950408889634

    return lambda: file._bounded_gate_cumsum_dense(gate, logs, bias, chunk, -5.0), want
