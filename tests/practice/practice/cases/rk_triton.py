"""triton_kernels of roark37: attention and LayerNorm, with their gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("roark37/triton_kernels", "8a99ba1a6d8ae97c2a0fa80eab0d26a52c9ef1b6", packages={"kernels": "."})  # fmt: skip
BF16 = torch.bfloat16


def _attention(causal):
    @repository.case("kernels/sdpa.py", "flash_fwd_kernel, _att_fwd_inner, flash_bwd_pre_kernel, flash_bwd_dkdv, _bwd_dkdv_inner, flash_bwd_dq, _bwd_dq_inner", small=dict(b=2, n=192, d=32), production=dict(b=32, n=4096, d=64), rtol=5e-2, atol=5e-2, share=1e-4, name="causal" if causal else "full")  # fmt: skip
    def attention(file, device, b, n, d):
        q, k, v, grad = (tm.normal(b, n, d, device=device, dtype=BF16) for _ in range(4))
        blocks = dict(B_outerloop=64, B_innerloop=32)

        def run():
            out, dq, dk, dv = (torch.empty_like(q) for _ in range(4))
            sums, delta = (torch.empty(b, n, device=device) for _ in range(2))
            grid, strides = (n // 64, b), q.stride()
            file.flash_fwd_kernel[grid](q, k, v, out, sums, *strides * 4, *sums.stride(), n, n, d**-0.5, True, is_causal=causal, D=d, Q_TILE_SIZE=64, K_TILE_SIZE=32)  # fmt: skip
            file.flash_bwd_pre_kernel[grid](
                out, grad, delta, *strides, *delta.stride(), n, d, **blocks
            )
            rest = *strides, *delta.stride(), n, d, True, d**-0.5, causal
            file.flash_bwd_dkdv[grid](q, k, v, dk, dv, grad, delta, sums, *rest, BLOCK_SIZE_D=d, **blocks)  # fmt: skip
            file.flash_bwd_dq[grid](q, k, v, dq, grad, delta, sums, *rest, BLOCK_SIZE_D=d, **blocks)
            return out, dq, dk, dv

        return run, lambda: tm.with_gradients(lambda *x: tm.attention(*x, causal=causal)[0], grad, q, k, v, exact=True)  # fmt: skip


_attention(True)
_attention(False)


def _norm(locked):
    dx_kernel = "layernorm_bwd_dx_wo_atomic_ops_kernel" if locked else "layernorm_bwd_dx_kernel"

    @repository.case("kernels/layernorm.py", f"layernorm_fwd_kernel, {dx_kernel}, layernorm_bwd_merge_dwdb_kernel", small=dict(m=20, n=200), production=dict(m=8192, n=4096), rtol=1e-3, atol=1e-3, name="layer_norm_locked" if locked else "layer_norm_atomic")  # fmt: skip
    def layer_norm(file, device, m, n):
        x, grad = (tm.normal(m, n, device=device) for _ in range(2))
        weight, bias = (tm.normal(n, device=device) for _ in range(2))
        block, groups = 1 << (n - 1).bit_length(), 64

        def run():
            y, dx = torch.empty_like(x), torch.empty_like(x)
            mean, scale = torch.empty(m, device=device), torch.empty(m, device=device)
            parts = torch.zeros(groups, 2 * block, device=device)
            sums, locks = torch.empty(2 * block, device=device), torch.zeros(2 * groups, dtype=torch.int32, device=device)  # fmt: skip
            file.layernorm_fwd_kernel[(m,)](x, y, weight, bias, 1e-5, mean, scale, n, n, BLOCK_SIZE=block)  # fmt: skip
            getattr(file, dx_kernel)[(m,)](x, weight, grad, mean, scale, dx, parts, locks, n, n, groups, *parts.stride(), BLOCK_SIZE_N=block, GROUP_SIZE_N=2 * block)  # fmt: skip
            file.layernorm_bwd_merge_dwdb_kernel[(-(-2 * block // 128),)](parts, sums, groups, 2 * block, *parts.stride(), BLOCK_M=32, BLOCK_N=128)  # fmt: skip
            return y, dx, sums[:n], sums[block : block + n]

        return run, lambda: tm.with_gradients(lambda *y: tm.layer_norm(*y, 1e-5), grad, x, weight, bias, exact=True)  # fmt: skip


_norm(False)
_norm(True)
