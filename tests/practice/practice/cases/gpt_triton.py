"""gpt-triton: the parts of GPT-2: embeddings, layer norm, products with what follows, attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("thevasudevgupta/gpt-triton", "6a12b71e4e332a2077e6b7f742f97c7160fe0242")
FILE = "kernels.py"
HALF = torch.float16


@repository.case(FILE, "fused_embeddings_kernel, dropout", small=dict(b=2, n=30, vocabulary=90, d=72), production=dict(b=32, n=1024, vocabulary=50257, d=768), rtol=1e-3, atol=2e-3)  # fmt: skip
def embeddings(file, device, b, n, vocabulary, d):
    ids = tm.integers(0, vocabulary, b, n, device=device)
    words, places = (tm.normal(count, d, device=device, dtype=HALF) for count in (vocabulary, n))
    return (
        lambda: file.fused_embeddings(ids, words, places),
        lambda: words.double()[ids] + places.double(),
    )


@repository.case(FILE, "fused_layer_norm_kernel", small=dict(m=20, n=700), production=dict(m=32768, n=768), rtol=1e-4, atol=1e-4)  # fmt: skip
def layer_norm(file, device, m, n):
    x, weight, bias = (tm.normal(*shape, device=device) for shape in ((m, n), (n,), (n,)))
    return (
        lambda: file.fused_layer_norm(x, weight, bias),
        lambda: tm.layer_norm(x, weight, bias, 1e-5),
    )


@repository.case(FILE, "fused_ffn_kernel, gelu_new, tanh, dropout", small=dict(m=70, n=100, k=90), production=dict(m=8192, n=3072, k=768), rtol=1e-2, atol=1e-2)  # fmt: skip
def layer(file, device, m, n, k):
    """gelu(x @ w + bias) + residual."""
    x, w = (tm.normal(*shape, device=device, dtype=HALF) for shape in ((m, k), (k, n)))
    w /= k**0.5
    bias = tm.normal(n, device=device, dtype=HALF)
    residual = tm.normal(m, n, device=device, dtype=HALF)

    def want():
        y = x.double() @ w.double() + bias.double()
        return F.gelu(y, approximate="tanh") + residual.double()

    return lambda: file.fused_ffn(x, w, bias, residual, add_gelu=True), want


@repository.case(FILE, "flash_attention_v1_kernel, dropout", small=dict(b=2, heads=2, n=100, d=64), production=dict(b=16, heads=12, n=1024, d=64), rtol=1e-2, atol=1e-2)  # fmt: skip
def attention(file, device, b, heads, n, d):
    q, k, v = (tm.normal(b, heads, n, d, device=device, dtype=HALF) for _ in range(3))
    return (
        lambda: file.flash_attention_v1(q, k, v),
        lambda: tm.attention(q, k, v, causal=True)[0],
    )
