"""Triton-LoRA-Fusion: products of LoRA fused with the one of the base."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("huajianwu050114/Triton-LoRA-Fusion", "3402a156d77d1bd84131eb86140a42954b41bcda")  # fmt: skip
PLACE = "03_fused_kernel/kernels/"
SIZES = dict(small=dict(m=70, n=136, k=96, r=16), production=dict(m=4096, n=4096, k=4096, r=16))
HALF = dict(rtol=2e-2, atol=3e-2)


def _parts(m, n, k, r, device):
    shapes = ((m, k), (k, n), (k, r), (r, n))
    return [tm.normal(*s, device=device, dtype=torch.float16, scale=s[0] ** -0.5 if i else 1.0) for i, s in enumerate(shapes)]  # fmt: skip


@repository.case(f"{PLACE}fused_lora_gemm.py", "fused_lora_kernel", **SIZES, **HALF)
def fused(file, device, m, n, k, r):
    x, c, a, b = _parts(m, n, k, r, device)
    y = (x.float() @ a.float()).half()
    return lambda: file.fused_lora_matmul(x, c, y, b), lambda: x.double() @ c.double() + y.double() @ b.double()  # fmt: skip


@repository.case(f"{PLACE}lora_up_add.py", "lora_up_add_kernel", **SIZES, **HALF)
def up_add(file, device, m, n, k, r):
    w, y, b = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, n), (m, r), (r, n)))
    return lambda: file.lora_up_add(w, y, b), lambda: w.double() + y.double() @ b.double()


@repository.case(f"{PLACE}spatial_down_base.py", "spatial_down_base_kernel", **SIZES, **HALF)
def spatial(file, device, m, n, k, r):
    x, c, a, _ = _parts(m, n, k, r, device)
    ways = [("contiguous", "atomic"), ("interleaved", "full_k"), ("three_range", "atomic")]

    def want():
        pair = x.double() @ c.double(), x.double() @ a.double()
        return [pair] * len(ways)

    return lambda: [file.spatial_down_base_matmul(x, c, a, layout=layout, down_mode=mode) for layout, mode in ways], want  # fmt: skip
