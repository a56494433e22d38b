"""triton-transformer: softmax, layer norm, dropout and a fused GEMM, in the style of early Triton."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "lucidrains/triton-transformer",
    "689abae8647693c2e43d7a3823fbd0b6d11a5c6f",
    packages={"triton_transformer": "."},
)
FOLDER = "triton_transformer/"
OLD = dict.fromkeys(
    ("cpu", "interpreter", "check", "gpu-compile", "gpu"), "its kernels take **meta, as in Triton 1"
)


def _gradients(function, leaves, g, dtype):
    leaves = [x.detach().to(dtype).requires_grad_() for x in leaves]
    y = function(*leaves)
    return y, *torch.autograd.grad(y, leaves, g.to(dtype))


@repository.case(FOLDER + "softmax.py", "softmax_kernel_forward, softmax_kernel_backward", small=dict(m=40, n=40), production=dict(m=4096, n=4096), rtol=1e-4, atol=1e-6, not_in=OLD)  # fmt: skip
def softmax_causal(file, device, m, n):
    x, g = tm.normal(1, m, n, device=device), tm.normal(1, m, n, device=device)
    mask = torch.ones(m, n, dtype=torch.bool, device=device).triu(1)
    return (
        lambda: _gradients(
            lambda x: file.softmax(x, causal=True, use_triton=True), [x], g, torch.float32
        ),
        lambda: _gradients(
            lambda x: x.masked_fill(mask, float("-inf")).softmax(-1), [x], g, torch.float64
        ),
    )


@repository.case(FOLDER + "layernorm.py", "layernorm_kernel_forward_training, layernorm_kernel_backward, layernorm_gamma_kernel_backward", small=dict(m=70, n=200), production=dict(m=8192, n=2048), rtol=1e-3, atol=1e-3, not_in=OLD)  # fmt: skip
def layer_norm(file, device, m, n):
    x, w, g = (
        tm.normal(m, n, device=device),
        tm.normal(n, device=device),
        tm.normal(m, n, device=device),
    )
    right = lambda x, w: F.layer_norm(x, (n,), w, None, 1e-5)
    return (
        lambda: _gradients(
            lambda x, w: file.layernorm(x, w, 1e-5, use_triton=True), [x, w], g, torch.float32
        ),
        lambda: _gradients(right, [x, w], g, torch.float64),
    )


@repository.case(FOLDER + "dropout.py", "_seeded_dropout", small=dict(n=30000), production=dict(n=1 << 24), rtol=2e-2, atol=2e-2, not_in=OLD)  # fmt: skip
def seeded_dropout(file, device, n):
    """Values are 0 or scaled; the share that stays is right."""
    x = torch.rand(n).to(device) + 1

    def run():
        y = file.seeded_dropout(x, 0.25, 123)
        return (y != 0).float().mean(), torch.where(y != 0, y * 0.75, x)

    return run, lambda: (torch.tensor(0.75), x)


@repository.case(FOLDER + "bmm.py", "bmm_kernel, relu_squared_activation", small=dict(b=2, m=70, n=96, k=150), production=dict(b=8, m=1024, n=4096, k=1024), rtol=2e-2, atol=0.5, not_in=OLD)  # fmt: skip
def bmm_relu_squared(file, device, b, m, n, k):
    x, y = (
        tm.normal(b, m, k, device=device, dtype=torch.float16, scale=0.3),
        tm.normal(b, k, n, device=device, dtype=torch.float16),
    )
    return (
        lambda: file.triton_bmm(x, y, activation=file.relu_squared_activation),
        lambda: (x.double() @ y.double()).relu() ** 2,
    )
