"""llm-quantization: products with int4 weights, scaled in three ways, and packing of weights."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("anaaaiva/llm-quantization", "3f51e63d685dd314169a3cb99be466c7c9083418")


def _product(mode):
    def build(file, device, m, k, n, group):
        a = tm.normal(m, k, device=device, dtype=torch.float16)
        values = torch.randint(0, 16, (n, k))
        packed = tm.packed_int4(values).to(device)
        shape = {"global": (1,), "rowwise": (n,), "groupwise": (n, k // group)}[mode]
        most = (torch.rand(shape) + 0.5).half().to(device)

        def want():
            scale = most.cpu().double() / 8
            if mode == "groupwise":
                scale = scale.repeat_interleave(group, 1)
            elif mode == "rowwise":
                scale = scale[:, None]
            return a.cpu().double() @ ((values.double() - 8) * scale).T

        size = group if mode == "groupwise" else None
        return lambda: file.matmul_fp16_int4_unified(a, packed, most, mode, size), want

    return build


for _mode in ("global", "rowwise", "groupwise"):
    repository.case("kernels/unified_matmul.py", "_matmul_fp16_int4_unified_kernel", small=dict(m=70, k=64, n=72, group=32), production=dict(m=128, k=2048, n=2048, group=128), rtol=1e-2, atol=1e-1, name=f"product_{_mode}")(_product(_mode))  # fmt: skip


@repository.case("kernels/global_quant.py", "_quant_global_int4_int32", small=dict(m=5, n=80), production=dict(m=8192, n=8192), share=1e-3)  # fmt: skip
def pack(file, device, m, n):
    x = tm.normal(m, n, device=device)
    scale = 8 / 5.0

    def run():
        out = torch.empty(m, n // 8, dtype=torch.int32, device=device)
        file._quant_global_int4_int32[(m,)](x, out, scale, m, n)
        return out

    return run, lambda: tm.packed_int4((x.cpu().double() * scale).round().clamp(-8, 7) + 8)
