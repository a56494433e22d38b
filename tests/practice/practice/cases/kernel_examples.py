"""kernel-examples: int8 for each token or group, the largest elements of rows, and RoPE."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("yiwen-cai/kernel-examples", "14fc5149807b1f07f9905794c12917d4db971ebc")
FOLDER = "kernels/triton/"


def _int8(rows):
    scales = rows.double().abs().amax(-1, keepdim=True) / 127
    return (rows.double() / scales).round().clamp(-127, 127), scales[..., 0]


@repository.case(FOLDER + "quant/int8_per_group.py", "int8_per_group_quant", share=1e-4, small=dict(m=5, n=256), production=dict(m=8192, n=4096))  # fmt: skip
def int8_of_groups(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def run():
        codes = torch.empty(m, n, dtype=torch.int8, device=device)
        scales = torch.empty(m, n // 128, device=device)
        file.int8_per_group_quant[(m, n // 128)](x, codes, scales, n, 128, 128)
        return codes, scales

    def want():
        codes, scales = _int8(x.unflatten(1, (-1, 128)))
        return codes.flatten(1), scales

    return run, want


@repository.case(FOLDER + "quant/int8_per_token.py", "int8_per_token_quant", share=1e-4, small=dict(m=5, n=200), production=dict(m=8192, n=4096))  # fmt: skip
def int8_of_tokens(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def run():
        codes = torch.empty(m, n, dtype=torch.int8, device=device)
        scales = torch.empty(m, device=device)
        file.int8_per_token_quant[(m,)](x, codes, scales, n, 1 << (n - 1).bit_length())
        return codes, scales

    return run, lambda: _int8(x)


@repository.case(FOLDER + "topK.py", "topK", small=dict(m=5, n=200, k=4), production=dict(m=8192, n=4096, k=8))  # fmt: skip
def top_k(file, device, m, n, k):
    x = tm.normal(m, n, device=device)

    def run():
        values = torch.empty(m, k, device=device)
        ids = torch.empty(m, k, dtype=torch.int32, device=device)
        file.topK[(m,)](x, values, ids, n, k, 1 << (n - 1).bit_length())
        return values, x.gather(1, ids.long())

    def want():
        values = x.double().topk(k).values
        return values, values

    return run, want


@repository.case(FOLDER + "rope.py", "rope", small=dict(h=3, s=7, d=64), production=dict(h=128, s=4096, d=128))  # fmt: skip
def rope(file, device, h, s, d):
    x = tm.normal(h, s, d, device=device)
    angles = torch.rand(s, d // 2) * 6
    cos, sin = angles.cos().to(device), angles.sin().to(device)

    def run():
        out = torch.empty_like(x)
        file.rope[(h * s,)](x, out, cos, sin, s, d)
        return out

    return run, lambda: tm.rotated(x, cos, sin, interleaved=True)
