"""triton_docs_tutorials by evintunador: causal attention with its gradients, dropout."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "evintunador/triton_docs_tutorials", "1d79d23423ffb9f2853dddbeb22aabb82dca8af8"
)


@repository.case("09_flash_attention/flash_attention.py", "attn_fwd, attn_backward_preprocess, attn_backward", rtol=1e-2, atol=1e-2, share=1e-3, small=dict(b=1, h=2, n=100, d=32), production=dict(b=1, h=16, n=2048, d=64))  # fmt: skip
def attention(file, device, b, h, n, d):
    q, k, v, up = (tm.normal(b, h, n, d, device=device) for _ in range(4))
    return (
        lambda: tm.with_gradients(lambda *x: file.triton_attention(*x, d**-0.5), up, q, k, v),
        lambda: tm.with_gradients(
            lambda *x: tm.attention(*x, causal=True)[0], up.double(), q, k, v, exact=True
        ),
    )


@repository.case("07_dropout/dropout.py", "_seeded_dropout", rtol=0, atol=2e-2, small=dict(n=50000), production=dict(n=1 << 26))  # fmt: skip
def dropout(file, device, n):
    x = tm.normal(n, device=device)

    def run():
        out = file.seeded_dropout(x, 0.3, 123)
        kept = out != 0
        wrong = (out - kept * x / 0.7).abs().max()
        return kept.double().mean(), wrong, (kept[1:] & kept[:-1]).double().mean()

    return run, lambda: torch.tensor([0.7, 0.0, 0.49], dtype=torch.float64).unbind()
