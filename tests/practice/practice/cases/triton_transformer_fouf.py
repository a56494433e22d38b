"""TritonTransformer: embeddings of tokens and places, a feed-forward block that is added to its
input, and a cross entropy, all sums by atomics."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("julianjfouf/TritonTransformer", "5b6d567e40acd5ae813e22de0fc1baf09effe97f")
HALF = torch.float16


@repository.case("kernels/embedding.py", "_embedding_kernel", small=dict(b=3, t=20, vocabulary=50, c=100), production=dict(b=16, t=1024, vocabulary=50304, c=1024), rtol=1e-6, atol=1e-6)  # fmt: skip
def embedding(file, device, b, t, vocabulary, c):
    ids = tm.integers(0, vocabulary, b, t, device=device)
    tokens, places = (tm.normal(n, c, device=device) for n in (vocabulary, t))
    return (
        lambda: file.embedding(ids, tokens, places),
        lambda: tokens.double()[ids] + places.double(),
    )


@repository.case("kernels/mlp.py", "_mlp_kernel1, _mlp_kernel2, _relu", small=dict(b=2, t=20, c=48, h=100), production=dict(b=4, t=1024, c=1024, h=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def feed_forward(file, device, b, t, c, h):
    residual, x = (tm.normal(b, t, c, device=device, dtype=HALF) for _ in range(2))
    fc1, fc2 = (
        tm.normal(*shape, device=device, dtype=HALF, scale=shape[1] ** -0.5)
        for shape in ((h, c), (c, h))
    )

    def want():
        hidden = F.relu(x.double() @ fc1.double().T).to(HALF).double()
        return residual.double() + hidden @ fc2.double().T

    return lambda: file.mlp(residual, x, fc1, fc2, activation="ReLU"), want


@repository.case("kernels/cross_entropy.py", "_cross_entropy_loss_kernel", small=dict(n=50, classes=3000), production=dict(n=4096, classes=50304), rtol=1e-3, atol=1e-3)  # fmt: skip
def cross_entropy(file, device, n, classes):
    logits = tm.normal(n, classes, device=device)
    targets = tm.integers(0, classes, n, device=device)
    return (
        lambda: file.cross_entropy_loss(logits, targets),
        lambda: F.cross_entropy(logits.double(), targets),
    )
