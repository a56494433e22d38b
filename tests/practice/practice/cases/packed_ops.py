"""Packed sequences merged and split: which tensor a program copies is found in a loop."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ring00/triton_kernels", "5002280faffefd1e39b2aba948528d31871bb3d9")
FILE = "src/triton_kernels/packed_ops.py"
SMALL, LARGE = dict(b=3, n=20, m=5, d=100), dict(b=16, n=2048, m=256, d=2048)


def _packed(b, n, m, d, device):
    """Long and short sequences, and both of them in turn."""
    lengths = tm.lengths(b, n), tm.lengths(b, m)
    x, y = (tm.normal(sum(a), d, device=device, dtype=torch.bfloat16) for a in lengths)
    parts = zip(*(a.split(part) for a, part in zip((x, y), lengths, strict=True)), strict=True)
    return x, y, torch.cat([a for pair in parts for a in pair]), lengths


@repository.case(FILE, "_packed_merge_kernel", small=SMALL, production=LARGE, rtol=0, atol=0)
def merged(file, device, b, n, m, d):
    x, y, both, lengths = _packed(b, n, m, d, device)
    return lambda: file.packed_merge_triton(x, y, *lengths), lambda: both


@repository.case(FILE, "_packed_split_kernel", small=SMALL, production=LARGE, rtol=0, atol=0)
def split(file, device, b, n, m, d):
    x, y, both, lengths = _packed(b, n, m, d, device)
    return lambda: file.packed_split_triton(both, *lengths), lambda: (x, y)
