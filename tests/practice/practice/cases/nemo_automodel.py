"""NeMo Automodel: LoRA with its gradients, cross entropy with soft targets, maps of experts."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "NVIDIA-NeMo/Automodel",
    "36044ad3d139363fb6c73c24af2e7c6b65ec52f6",
    packages={"nemo_automodel": "."},
)
FOLDER = "nemo_automodel/components/"
BF16 = torch.bfloat16
LORA = dict(small=dict(m=50, k=200, rank=8, n=150), production=dict(m=8192, k=4096, rank=16, n=4096))  # fmt: skip


@repository.case(FOLDER + "_peft/lora_kernel.py", "lora_forward_kernel", **LORA, rtol=2e-2, atol=2e-1)  # fmt: skip
def lora(file, device, m, k, rank, n):
    x = tm.normal(m, k, device=device, dtype=BF16)
    a = tm.normal(rank, k, device=device, dtype=BF16, scale=k**-0.5).T
    b = tm.normal(n, rank, device=device, dtype=BF16).T
    return (
        lambda: file.lora_forward_wrapper(x, a, b, None, 2.0, dtype=BF16),
        lambda: 2 * (x.double() @ a.double()) @ b.double(),
    )


@repository.case(FOLDER + "_peft/lora_kernel.py", "lora_da_dx_kernel", **LORA, rtol=2e-2, atol=3e-1)
def lora_gradients(file, device, m, k, rank, n):
    x = tm.normal(m, n, device=device, dtype=BF16, scale=m**-0.5)
    up = tm.normal(m, k, device=device, dtype=BF16)
    b = tm.normal(k, rank, device=device, dtype=BF16, scale=k**-0.5)
    a = tm.normal(rank, n, device=device, dtype=BF16)

    def want():
        inner = 2 * up.double() @ b.double()
        return x.double().T @ inner, inner @ a.double()

    return lambda: file.lora_da_dx_update_wrapper(x.T, up, b, a, 2.0, dtype=BF16), want


@repository.case(FOLDER + "_peft/lora_kernel.py", "lora_db_kernel", **LORA, rtol=2e-2, atol=2e-1)
def lora_gradient_of_b(file, device, m, k, rank, n):
    x, up = (tm.normal(m, s, device=device, dtype=BF16) for s in (k, n))
    a = tm.normal(rank, k, device=device, dtype=BF16, scale=(k * m) ** -0.5)
    return (
        lambda: file.lora_db_update_wrapper(a, x.T, up, 2.0, dtype=BF16),
        lambda: (2 * a.double() @ x.double().T @ up.double()).T,
    )


@repository.case(FOLDER + "loss/triton/soft_cross_entropy.py", "_soft_ce_forward_kernel, _soft_ce_backward_kernel", rtol=1e-3, atol=1e-6, small=dict(b=2, s=10, v=1000), production=dict(b=2, s=2048, v=32000))  # fmt: skip
def soft_cross_entropy(file, device, b, s, v):
    logits = tm.normal(b, s, v, device=device)
    target = tm.normal(b, s, v, device=device, scale=2.0).softmax(-1)
    mask = (torch.rand(b, s, 1) < 0.8).to(device)
    up = torch.tensor(0.5).to(device)

    def right(logits):
        losses = -(target.double() * logits.log_softmax(-1)).sum(-1, keepdim=True)
        return (losses * mask).sum() / mask.sum()

    return (
        lambda: tm.with_gradients(
            lambda x: file.fused_soft_cross_entropy(x, target, mask), up, logits
        ),
        lambda: tm.with_gradients(right, up.double(), logits, exact=True),
    )


@repository.case(FOLDER + "moe/megatron/fused_indices_converter.py", "_indices_to_multihot_kernel, _multihot_to_indices_kernel", rtol=0, atol=0, small=dict(n=50, experts=20, k=3), production=dict(n=131072, experts=128, k=8))  # fmt: skip
def map_of_experts(file, device, n, experts, k):
    weights, ids = tm.topk_ids(n, experts, k, device)
    weights, up = weights.contiguous(), tm.normal(n, experts, device=device)
    ids = ids.masked_fill(torch.rand(n, k).to(device) < 0.2, -1)  # experts elsewhere

    def function(weights):
        return file.fused_indices_to_multihot(ids, weights, experts)[1]

    def right(weights):
        table = torch.zeros(n, experts + 1, device=device, dtype=weights.dtype)
        return table.scatter(1, ids % (experts + 1), weights)[:, :-1]

    return (
        lambda: tm.with_gradients(function, up, weights),
        lambda: tm.with_gradients(right, up.double(), weights, exact=True),
    )
