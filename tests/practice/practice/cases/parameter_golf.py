"""parameter-golf: a loss of capped logits, and the layers of an MLP by programs that stay, with
descriptors of tensors."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "openai/parameter-golf",
    "4908dc46f21ed3fdd08d2fdca285deb2194b9599",
    stand_ins={"sentencepiece": {}, "flash_attn_interface": {}},
)
FILE = "records/track_10min_16mb/2026-04-29_SmearGateBOSFix_3Seed_1.06141/train_gpt.py"
BF16 = torch.bfloat16


@repository.case(FILE, "_softcapped_ce_fwd_kernel, _softcapped_ce_bwd_kernel", small=dict(m=20, n=3000), production=dict(m=16384, n=8192), rtol=1e-2, atol=1e-3)  # fmt: skip
def loss(file, device, m, n):
    logits = tm.normal(m, n, device=device, dtype=BF16, scale=10.0)
    targets = tm.integers(0, n, m, device=device)
    upstream = tm.normal(m, device=device)

    def want(x):
        return F.cross_entropy(30 * torch.tanh(x / 30), targets, reduction="none")

    return (
        lambda: tm.with_gradients(
            lambda x: file.softcapped_cross_entropy(x, targets, 30.0, "none"), upstream, logits
        ),
        lambda: tm.with_gradients(want, upstream, logits, exact=True),
    )


def _operands(m, n, k, device):
    a, b = (tm.normal(rows, k, device=device, dtype=BF16, scale=k**-0.25) for rows in (m, n))
    return a, b, a.double() @ b.double().T


@repository.case(FILE, "linear_leaky_relu_square_kernel", small=dict(m=200, n=304, k=72), production=dict(m=16384, n=2048, k=512), rtol=3e-2, atol=3e-2)  # fmt: skip
def layer(file, device, m, n, k):
    a, b, exact = _operands(m, n, k, device)
    return (
        lambda: file.linear_leaky_relu_square(a, b),
        lambda: (exact, F.leaky_relu(exact, 0.5).square()),
    )


@repository.case(FILE, "linear_leaky_relu_square_kernel", small=dict(m=200, n=304, k=72), production=dict(m=16384, n=2048, k=512), rtol=3e-2, atol=3e-2)  # fmt: skip
def gradient_of_layer(file, device, m, n, k):
    a, b, exact = _operands(m, n, k, device)
    before = tm.normal(m, n, device=device, dtype=BF16)

    def want():
        x = before.double()
        return exact * torch.where(x > 0, 2 * x, x / 2)

    return lambda: file.linear_leaky_relu_square(a, b, before), want
