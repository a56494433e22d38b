"""GPTQ-for-LLaMa: 4-bit products for gradients, and two of them with SiLU between."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton

from practice import torch_math as tm
from practice.case import Repository
from practice.cases.autogptq import weights

repository = Repository(
    "qwopqwop200/GPTQ-for-LLaMa", "e985b700f19e670bad9b949cd83056889dd31448",
    packages={"quant": "."},
    stand_ins={
        # Its autotuner is one of an older Triton.
        "quant.custom_autotune": {
            "autotune": lambda configs, key, **more: triton.autotune(configs, key)
        },
        "transformers.models.llama.modeling_llama": {},
    },
)  # fmt: skip
HALF = torch.float16
SIZES = dict(small=dict(m=20, k=256, n=256), production=dict(m=512, k=4096, n=11008))
NEAR = dict(rtol=1e-2, atol=1e-2)


def _numbers(x, w, out, scales, zeros):
    return *x.stride(), *w.stride(), *out.stride(), scales.stride(0), zeros.stride(0)


@repository.case("quant/quant_linear.py", "transpose_matmul_248_kernel", **SIZES, **NEAR)
def product_back(file, device, m, k, n):
    w, scales, zeros, groups, real = weights(device, k, n, 4)
    x = tm.normal(m, n, device=device, dtype=HALF, scale=n**-0.5)

    def run():
        out = torch.empty(m, k, device=device, dtype=HALF)

        def grid(meta):
            return (-(-m // meta["BLOCK_SIZE_M"]) * -(-k // meta["BLOCK_SIZE_K"]),)

        file.transpose_matmul_248_kernel[grid](x, w, out, scales, zeros, groups, m, n, k, 4, 15, *_numbers(x, w, out, scales, zeros))  # fmt: skip
        return out

    return run, lambda: x.double() @ real.T


@repository.case("quant/fused_mlp.py", "fusedmatmul_248_kernel, silu", **SIZES, **NEAR)
def gated_mlp(file, device, m, k, n):
    x = tm.normal(m, k, device=device, dtype=HALF, scale=k**-0.5)
    (*gate, a), (*value, b) = (weights(device, k, n, 4) for _ in range(2))

    def run():
        out = torch.empty(m, n, device=device, dtype=HALF)

        def grid(meta):
            return (-(-m // meta["BLOCK_SIZE_M"]) * -(-n // meta["BLOCK_SIZE_N"]),)

        numbers = _numbers(x, gate[0], out, gate[1], gate[2])
        file.fusedmatmul_248_kernel[grid](x, out, *gate, *value, m, n, k, 4, 15, *numbers)
        return out

    return run, lambda: F.silu(x.double() @ a) * (x.double() @ b)
