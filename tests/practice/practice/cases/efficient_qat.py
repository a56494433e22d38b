"""EfficientQAT: 2 and 4-bit integers unpacked along rows and along columns."""

from __future__ import annotations

import torch
import triton

from practice.case import Repository
from practice.cases.autogptq import packed

repository = Repository(
    "OpenGVLab/EfficientQAT", "78fd3fb6b6a2e70cc29d9e5d5f4fc6c3ea250619",
    packages={"quantize": "."},
    stand_ins={
        "quantize.triton_utils.custom_autotune": {
            "autotune": lambda configs, key, **more: triton.autotune(configs, key)
        },
    },
)  # fmt: skip


def _unpacked(axis, bits):
    def build(file, device, m, n):
        w = torch.randint(0, 1 << bits, (m, n))
        given = packed(w, bits, axis).to(device)

        def run():
            out = torch.empty(m, n, device=device, dtype=torch.float16)

            def grid(meta):
                return (-(-m // meta["BLOCK_SIZE_M"]) * -(-n // meta["BLOCK_SIZE_N"]),)

            kernel = getattr(file, f"dequant_kernel_dim{axis}")
            kernel[grid](given, out, m, n, bits, (1 << bits) - 1, *given.stride(), *out.stride())
            return out

        return run, lambda: w.to(device)

    repository.case("quantize/triton_utils/kernels.py", f"dequant_kernel_dim{axis}", small=dict(m=128, n=256), production=dict(m=8192, n=8192), rtol=0, atol=0, name=f"unpacked_{axis}_{bits}")(build)  # fmt: skip


_unpacked(0, 2)
_unpacked(1, 4)
