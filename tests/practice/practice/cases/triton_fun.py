"""triton-fun: norms with residuals, and a product whose blocks have scales."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("GiftedNovaHD/triton-fun", "3830ea8588d6ab814b4e13c751a6a54a2dbe8239")


def _rms_norm(name, kernels, small, production):
    @repository.case("ops/rmsnorm.py", f"_rmsnorm_fwd_kernel, {kernels}", small=small, production=production, rtol=1e-3, atol=1e-3, name=name)  # fmt: skip
    def build(file, device, m, n):
        x, r, w, b = (tm.normal(*s, device=device) for s in ((m, n), (m, n), (n,), (n,)))
        up = tm.normal(2 * m, n, device=device)

        def exact(x, w, b, r):
            return torch.cat([tm.rms_norm(x + r, w, 1e-6) + b, x + r])

        return (
            lambda: tm.with_gradients(lambda *a: torch.cat(file.RMSNormTriton.apply(*a)), up, x, w, b, r),
            lambda: tm.with_gradients(exact, up, x, w, b, r, exact=True),
        )  # fmt: skip


_rms_norm("rms_norm", "_rmsnorm_bwd_loop_rows_kernel", dict(m=13, n=300), dict(m=8192, n=4096))
_rms_norm("rms_norm_of_long_rows", "_rmsnorm_bwd_c1_kernel, _rmsnorm_bwd_final_kernel", dict(m=5, n=9000), dict(m=4096, n=12288))  # fmt: skip


@repository.case("ops/ssnorm.py", "_ssnorm_residual_fwd, _ssnorm_residual_bwd, _reduce_dg_buckets", small=dict(m=13, n=300), production=dict(m=8192, n=4096), rtol=1e-3, atol=1e-3)  # fmt: skip
def single_scale_norm(file, device, m, n):
    x, r, g = tm.normal(m, n, device=device), tm.normal(m, n, device=device), tm.normal(1, device=device)  # fmt: skip
    up = tm.normal(2 * m, n, device=device)

    def exact(x, g, r):
        s = x + r
        return torch.cat([s / s.norm(dim=-1, keepdim=True) * n**0.5 * (g + 1), s])

    return (
        lambda: tm.with_gradients(lambda *a: torch.cat(file.SSNormTriton.apply(*a)), up, x, g, r),
        lambda: tm.with_gradients(exact, up, x, g, r, exact=True),
    )


@repository.case("scaled_mm/block_scaled_mm.py", "block_scaled_mm_kernel", small=dict(m=150, n=200, k=60), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-1)  # fmt: skip
def scaled_product(file, device, m, n, k):
    a, b = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, k), (k, n)))
    sa, sb = (torch.rand(*s).to(device) + 0.5 for s in ((-(-m // 128), -(-k // 16)), (-(-k // 16), -(-n // 128))))  # fmt: skip

    def want():
        return tm.dequantised_blocks(a, sa, 128, 16) @ tm.dequantised_blocks(b, sb, 16, 128)

    return lambda: file.block_scaled_mm(a, b, sa, sb, out_dtype=torch.float32), want
