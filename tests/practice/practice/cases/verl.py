"""verl: log-probabilities and entropies of linear layers, FP8 by blocks."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "volcengine/verl", "b178a3cd56f58b2d502255daba591e92833930a7", packages={"verl": "."}
)
FILE = "verl/utils/kernel/kernels.py"
FORWARD = "efficient_entropy_kernel_general_mainloop, efficient_entropy_triton_kernel_epilogue"
# Columns of a vocabulary that is no multiple of 1,024 are counted as logits of 0.
SMALL, LARGE = dict(n=150, d=128, v=1024), dict(n=1024, d=1024, v=8192)


@repository.case(FILE, FORWARD + ", efficient_entropy_backward_kernel_general_mainloop_MN", small=SMALL, production=LARGE, rtol=1e-2, atol=1e-2)  # fmt: skip
def linear_cross_entropy(file, device, n, d, v):
    hidden = tm.normal(n, d, device=device)
    weight = tm.normal(v, d, device=device, scale=d**-0.5)
    labels = tm.integers(0, v, n, device=device)
    up, up_entropy = tm.normal(n, device=device), tm.normal(n, device=device)

    def run():
        reduction = file.get_entropy_reduction_enum_number("none")
        logs, entropy, *rest = file.efficient_entropy_forward(
            hidden, weight, labels, reduction, 1.5, None
        )
        grads = file.efficient_entropy_backward(
            up, up_entropy, hidden, weight, labels, *rest, reduction, False, 1.5, None
        )
        return logs, entropy, *grads

    def want():
        h, w = (x.double().requires_grad_() for x in (hidden, weight))
        logs = (h @ w.T / 1.5).log_softmax(-1)
        entropy = -(logs.exp() * logs).sum(-1)
        chosen = logs.gather(1, labels[:, None])[:, 0]
        grads = torch.autograd.grad((chosen * up + entropy * up_entropy).sum(), (h, w))
        return chosen.detach(), entropy.detach(), *grads

    return run, want


@repository.case("verl/utils/kernel/fp8_kernel.py", "_blockwise_cast_to_fp8_kernel", small=dict(m=200, n=300), production=dict(m=4096, n=7168), rtol=0.07, atol=1e-3)  # fmt: skip
def fp8_by_blocks(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def run():
        y, scales = file.scaled_fp8_blockwise_triton(x, [128, 128])
        return tm.dequantised_blocks(y, scales.flatten(2)[..., 0] if scales.dim() > 2 else scales, 128, 128)[:m, :n]  # fmt: skip

    return run, lambda: x
