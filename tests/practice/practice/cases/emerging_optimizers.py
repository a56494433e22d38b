"""Emerging-Optimizers: products of a matrix with its transposed one by tensor descriptors, half of
them computed."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "NVIDIA-NeMo/Emerging-Optimizers", "fd7729267109a8848709e9406bf19e53e970c3f4",
    packages={"emerging_optimizers": ""}, stand_ins={"absl": {}, "absl.logging": {}},
)  # fmt: skip
FOLDER = "emerging_optimizers/triton_kernels"
BF16 = torch.bfloat16


def _symmetric(n, device):
    x = torch.randn(n, n)
    return (x + x.T).to(BF16).to(device)


# Tiles of 64x128 that the diagonal crosses are stored twice, as they are and transposed.
for _name, _transposed in (("rows", False), ("columns", True)):

    @repository.case(f"{FOLDER}/syrk.py", "syrk_kernel_bf16", small=dict(n=256, k=128), production=dict(n=4096, k=4096), rtol=2e-2, atol=0.1, finds="race-same-value,race-warp-order", name=f"with_transposed_{_name}")  # fmt: skip
    def with_transposed(file, device, n, k, transposed=_transposed):
        a = tm.normal(k, n, device=device, dtype=BF16).T if transposed else tm.normal(n, k, device=device, dtype=BF16)  # fmt: skip
        c = _symmetric(n, device)
        return (
            lambda: file.tsyrk_ex(a, c, 0.5, 2.0),
            lambda: 0.5 * a.double() @ a.double().T + 2 * c.double(),
        )


@repository.case(f"{FOLDER}/syrk.py", "syrk_kernel_bf16_for_small_matrix", small=dict(n=128, k=192), production=dict(n=2048, k=2048), rtol=2e-2, atol=0.1)  # fmt: skip
def with_transposed_small(file, device, n, k):
    a = tm.normal(n, k, device=device, dtype=BF16)
    return lambda: file.tsyrk_ex_small_matrix(a), lambda: a.double() @ a.double().T


@repository.case(f"{FOLDER}/batched_syrk.py", "batched_syrk_kernel_bf16", small=dict(b=2, n=128, k=192), production=dict(b=4, n=2048, k=2048), rtol=2e-2, atol=0.1)  # fmt: skip
def with_transposed_batch(file, device, b, n, k):
    a = tm.normal(b, n, k, device=device, dtype=BF16)
    c = torch.stack([_symmetric(n, device) for _ in range(b)])
    return (
        lambda: file.batched_tsyrk_ex(a, c, 0.5, 2.0),
        lambda: 0.5 * a.double() @ a.double().mT + 2 * c.double(),
    )
