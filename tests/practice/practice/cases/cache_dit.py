"""Cache-DiT: rows of 8-bit numbers with their scale behind them, by pointers to other types, and
attention states that are merged."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("vipshop/cache-dit", "f86744af7daa0f569fe4324e73e3e50cebf70f4c")
FOLDER = "src/cache_dit/kernels/triton"
BF16 = torch.bfloat16


@repository.case(f"{FOLDER}/_float8_comm.py", "_fp8_comm_per_token_quant_kernel, _fp8_comm_per_token_dequant_kernel", small=dict(n=9, d=300), production=dict(n=8192, d=3072), rtol=0.08, atol=0.01)  # fmt: skip
def rows_with_scale(file, device, n, d):
    x = tm.normal(n, d, device=device, dtype=BF16)

    def run():
        packed, back = torch.empty(n, d + 2, dtype=tm.FP8, device=device), torch.empty_like(x)
        block = 128 if d < 1024 else 1024
        file._fp8_comm_per_token_quant_kernel[(n,)](packed, x, d, 1e-6, -448.0, 448.0, block)
        file._fp8_comm_per_token_dequant_kernel[(n,)](back, packed, d, block)
        return back, packed[:, d:].clone().view(BF16)

    def want():
        return x.double(), (x.double().abs().amax(-1, keepdim=True) / 448).to(BF16)

    return run, want


@repository.case(f"{FOLDER}/_float8_comm.py", "_fp8_comm_qkv_permute_quant_kernel, _fp8_comm_qkv_dequant_permute_kernel", small=dict(b=2, s=5, p=2, n=3, d=32), production=dict(b=1, s=4096, p=2, n=24, d=128), rtol=0.08, atol=0.01)  # fmt: skip
def heads_with_scales(file, device, b, s, p, n, d):
    x = tm.normal(b, s, p, n, d, device=device, dtype=BF16)
    blocks = 4 if n == 3 else 32, d

    def run():
        packed = torch.empty(p, s, b, n, d + 4, dtype=tm.FP8, device=device)
        file._fp8_comm_qkv_permute_quant_kernel[(p * s * b,)](
            packed, x, packed.stride(2), packed.stride(3), x.stride(0), x.stride(1), x.stride(2),
            b, s, n, d, 1e-6, *blocks,
        )  # fmt: skip
        rows = packed.view(p * s, b, n, d + 4)
        out = torch.empty(p * s, b, n, d, dtype=BF16, device=device)
        file._fp8_comm_qkv_dequant_permute_kernel[(p * s * b,)](
            out, rows, out.stride(1), rows.stride(0), rows.stride(1), rows.stride(2), b, p * s, n, d,
            *blocks,
        )  # fmt: skip
        return out

    return run, lambda: x.double().permute(2, 1, 0, 3, 4).flatten(0, 1)


@repository.case(f"{FOLDER}/_merge_attn_states.py", "_fused_merge_attn_states_kernel", small=dict(n=20, h=3, d=48), production=dict(n=16384, h=24, d=128), rtol=2e-2, atol=1e-2)  # fmt: skip
def merged_states(file, device, n, h, d):
    a, b = (tm.normal(n, h, d, device=device, dtype=BF16) for _ in range(2))
    x, y = (tm.normal(n, h, device=device) for _ in range(2))

    def run():
        out, sums = torch.empty_like(a), torch.empty_like(x)
        file._fused_merge_attn_states_kernel[(n, h)](
            out, sums, a, x, b, y, d, 64 if d < 65 else 128
        )
        return out, sums

    def want():
        weights = torch.stack([x, y], -1).double().softmax(-1)
        out = a.double() * weights[..., :1] + b.double() * weights[..., 1:]
        return out, torch.logaddexp(x.double(), y.double())

    return run, want
