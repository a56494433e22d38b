"""ColossalAI: softmax, RMS norm with residual and SwiGLU of its inference and training layers."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "hpcaitech/ColossalAI",
    "4f9953be335ef371b3848719ddafe596c01ecd37",
    packages={"colossalai": "."},
)
FOLDER = "colossalai/kernel/triton/"
SMALL, LARGE = dict(m=9, n=75), dict(m=4096, n=4096)


@repository.case(FOLDER + "softmax.py", "softmax_kernel", small=SMALL, production=LARGE)
def softmax(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.softmax(x), lambda: x.double().softmax(-1)


@repository.case(FOLDER + "rms_layernorm.py", "_rmsnorm_kernel", small=SMALL, production=LARGE, rtol=5e-3, atol=5e-3)  # fmt: skip
def rms_norm(file, device, m, n):
    x, w = tm.normal(m, n, device=device, dtype=torch.float16), tm.normal(n, device=device, dtype=torch.float16)  # fmt: skip
    return lambda: file.rms_layernorm(x, w, 1e-5)[0], lambda: tm.rms_norm(x, w, 1e-5)


@repository.case(FOLDER + "rms_layernorm.py", "_rmsnorm_with_residual_kernel", small=SMALL, production=LARGE, rtol=5e-3, atol=5e-3)  # fmt: skip
def rms_norm_residual(file, device, m, n):
    x, r = (tm.normal(m, n, device=device, dtype=torch.float16) for _ in range(2))
    w = tm.normal(n, device=device, dtype=torch.float16)
    return (
        lambda: file.rms_layernorm(x.clone(), w, 1e-5, residual=r),
        lambda: (tm.rms_norm(x.double() + r.double(), w, 1e-5), x.double() + r.double()),
    )


@repository.case(FOLDER + "llama_act_combine_kernel.py", "_llama_act_combine_forward, _llama_act_combine_backward", small=dict(b=2, m=5, n=75), production=dict(b=2, m=2048, n=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def swiglu(file, device, b, m, n):
    gate, up = tm.normal(b, m, 2 * n, device=device), tm.normal(b, m, n, device=device)
    grad = tm.normal(b, m, n, device=device)

    def right(gate, up):
        first, second = gate.chunk(2, -1)
        return first * F.silu(second) * up

    return (
        lambda: tm.with_gradients(file.LlamaActCombine.apply, grad, gate, up),
        lambda: tm.with_gradients(right, grad, gate, up, exact=True),
    )
