"""pitcany's TurboQuant for vLLM: keys of 2 bits and a sign, values of 4 bits, Hadamard rotations in
registers, and attention over them in parts."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("pitcany/turboquant", "08e9bf07568ae7e4cb43eb39c134d5a4acc4cbdf")
FILE = "vllm_plugin/triton_kernels.py"


def _layout(d):
    """Where the bytes of a token and a head lie."""
    sizes = dict(km=d // 4, kq=d // 8, kr=2, kn=2, vm=d // 2, vn=2)
    layout = SimpleNamespace(head_dim=d, key_mse_bits=2, val_mse_bits=3)
    at = 0
    for name, size in sizes.items():
        setattr(layout, name + "_off", at)
        setattr(layout, name + "_len", size)
        at += size
    layout.total_bytes, layout.fp16_elems = at, at // 2
    return layout


def _parts(*shape, d, device):
    """Indices of keys, signs, two norms of keys, indices of values, norms of values."""
    norms = [(torch.rand(*shape) + 0.5).half().float().to(device) for _ in range(3)]
    keys = tm.integers(0, 4, *shape, d, device=device)
    signs = tm.normal(*shape, d, device=device).sign()
    return keys, signs, norms[0], norms[1], tm.integers(0, 8, *shape, d, device=device), norms[2]


def _packed(keys, signs, key_residual, key_norm, values, value_norm):
    def bits(x, count):
        x = x.unflatten(-1, (-1, 8 // count)).to(torch.int32)
        shifts = torch.arange(0, 8, count, dtype=torch.int32, device=x.device)
        return (x << shifts).sum(-1).to(torch.uint8)

    norms = (x[..., None].half().view(torch.uint8) for x in (key_residual, key_norm, value_norm))
    residual, norm, last = norms
    parts = bits(keys, 2), bits(signs > 0, 1), residual, norm, bits(values, 4), last
    return torch.cat(parts, -1)


def _hadamard(d, device):
    h = torch.ones(1, 1, dtype=torch.float64)
    while len(h) < d:
        h = torch.cat((torch.cat((h, h), 1), torch.cat((h, -h), 1)))
    return (h / d**0.5).to(device)


@repository.case(FILE, "_tq_prerotate_kernel, _tq_fwht_full, _tq_fwht_step", small=dict(n=3, heads=2, group=2, d=64), production=dict(n=512, heads=8, group=4, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def rotated_queries(file, device, n, heads, group, d):
    q, sketch = tm.normal(n, heads, group, d, device=device), tm.normal(d, d, device=device)
    sigma = tm.normal(d, device=device).sign()
    return (
        lambda: file._prerotate_triton(q, sigma, sketch),
        lambda: (
            (q.double() * sigma.double()) @ _hadamard(d, device),
            q.double() @ sketch.double(),
        ),
    )


@repository.case(FILE, "_tq_pack_kernel", small=dict(n=20, d=64), production=dict(n=131072, d=128), rtol=0, atol=0)  # fmt: skip
def packed(file, device, n, d):
    parts = _parts(n, d=d, device=device)
    return lambda: file._pack_triton(*parts, _layout(d)), lambda: _packed(*parts)


def _attention_case(file, device, heads, group, keys, d, rotation):
    parts = _parts(keys, heads, d=d, device=device)
    data = _packed(*parts)
    q, sketch = (tm.normal(heads, group, d, device=device) for _ in range(2))
    key_levels = tm.normal(4, device=device, scale=d**-0.5).sort().values
    value_levels = tm.normal(8, device=device, scale=d**-0.5).sort().values
    sigma, turn = tm.normal(d, device=device).sign(), tm.normal(d, d, device=device)

    def run():
        partial = file._stage1_triton(
            q, sketch, data, _layout(d), key_centroids=key_levels, val_centroids=value_levels,
            qjl_corr=0.1, sm_scale=d**-0.5, num_kv_splits=8,
        )  # fmt: skip
        return file._stage2_triton(*partial, turn, rotation, sigma)

    def want():
        k, signs, residual, norm, v, value_norm = (x.transpose(0, 1) for x in parts)
        scores = q.double() @ key_levels.double()[k].mT
        scores += 0.1 * (sketch.double() @ signs.double().mT) * residual.double()[:, None]
        p = (scores * norm.double()[:, None] * d**-0.5).softmax(-1)
        y = p @ (value_levels.double()[v] * value_norm.double()[..., None])
        return y @ _hadamard(d, device) * sigma.double() if rotation == "wht" else y @ turn.double()

    return run, want


ATTENTION = "_tq_decode_stage1_kernel, _lookup_4, _lookup_8, _tq_decode_stage2_kernel"


@repository.case(FILE, ATTENTION + ", _tq_fwht_step", small=dict(heads=2, group=2, keys=300, d=64), production=dict(heads=8, group=4, keys=16384, d=128), rtol=1e-3, atol=1e-4)  # fmt: skip
def attention(file, device, heads, group, keys, d):
    return _attention_case(file, device, heads, group, keys, d, "wht")


@repository.case(FILE, ATTENTION, small=dict(heads=2, group=2, keys=300, d=64), production=dict(heads=8, group=4, keys=16384, d=128), rtol=1e-3, atol=1e-3)  # fmt: skip
def attention_and_dense_rotation(file, device, heads, group, keys, d):
    return _attention_case(file, device, heads, group, keys, d, "haar")
