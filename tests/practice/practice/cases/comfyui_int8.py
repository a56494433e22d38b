"""ComfyUI-INT8-Fast: rows quantised on the way into int8 products."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("BobJohnson24/ComfyUI-INT8-Fast", "1e15f8f3772df618bdb83a40d862f19486d2b427")  # fmt: skip


def _case(name, suffix, rows):
    def build(file, device, m, n, k):
        x = tm.normal(m, k, device=device, dtype=torch.bfloat16)
        w = tm.integers(-127, 128, n, k, device=device, dtype=torch.int8)
        scale = torch.rand(n if rows else 1, 1).to(device) * 1e-3
        bias = tm.normal(n, device=device)

        def run():
            return getattr(file, f"triton_int8_linear{suffix}")(x, w, scale, bias)

        def want():
            size = x.float().abs().amax(1, keepdim=True).double() / 127
            q = (x.double() / size).round().clamp(-128, 127)
            return q @ w.double().T * size * scale.double().flatten() + bias.double()

        return run, want

    # Offsets modulo M and N are also what the mask of the store sees: tiles past the end write again.
    repository.case("int8_fused_kernel.py", f"_quantize_rowwise_kernel, _int8_matmul_dequant{suffix}_kernel", name=name, finds="race-same-value", rtol=1e-2, atol=2e-2, small=dict(m=40, n=70, k=96), production=dict(m=4096, n=4096, k=3072))(build)  # fmt: skip


_case("linear", "", False)
_case("linear_with_row_scales", "_per_row", True)
