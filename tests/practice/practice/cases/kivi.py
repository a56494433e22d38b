"""KIVI: products of queries with keys in 2 and 4 bits."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("jy-yuan/KIVI", "876b4d2d08e3b1d5f70d0969c299d8c7c42ddfb6", folders=(".",), stand_ins={"kivi_gemv": {}})  # fmt: skip

for _bits in (2, 4):

    @repository.case("quant/matmul.py", "qbvm_kernel", small=dict(b=2, h=2, k=128, n=128), production=dict(b=8, h=32, k=128, n=8192), rtol=2e-2, atol=5e-2, name=f"outer_{_bits}_bits")  # fmt: skip
    def outer(file, device, b, h, k, n, bits=_bits):
        x = tm.normal(b, h, 1, k, device=device, dtype=torch.float16, scale=k**-0.5)
        values, per = torch.randint(0, 1 << bits, (b, h, k, n)), 32 // bits
        words = (values.unflatten(-1, (-1, per)) << torch.arange(per) * bits).sum(-1)
        packed = torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32).to(device)
        scales, zeros = (torch.rand(b, h, k, n // 64).half().to(device) for _ in range(2))
        w = values.to(device).double() * scales.double().repeat_interleave(64, -1) + zeros.double().repeat_interleave(64, -1)  # fmt: skip
        return lambda: file.triton_bmm_fA_qB_outer(64, x, packed, scales, zeros, bits).view(b, h, 1, n), lambda: x.double() @ w  # fmt: skip
