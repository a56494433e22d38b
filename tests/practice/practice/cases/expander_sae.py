"""expander-sae: dictionaries whose columns have a few nonzeros: their products with vectors, the
largest of them, and Gram matrices of those."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("rodrgo/expander-sae", "598f59a6dd4cb6b4e0130763868253882ed87ebe")
FOLDER = "kernels/triton/"


def _dictionary(n, m, d, device):
    """The values and rows of the nonzeros, and all of it, a line for each column."""
    values = tm.normal(n, d, device=device)
    rows = tm.integers(0, m, n, d, device=device, dtype=torch.int32)
    dense = torch.zeros(n, m, dtype=torch.float64, device=device)
    return values, rows, dense.scatter_add(1, rows.long(), values.double())


@repository.case(FOLDER + "encoder_fwd_v3.py", "_encoder_fwd_v3_kernel", small=dict(b=10, m=50, n=90, d=7), production=dict(b=2048, m=1024, n=16384, d=8), rtol=1e-4, atol=1e-4)  # fmt: skip
def encoder(file, device, b, m, n, d):
    values, rows, dense = _dictionary(n, m, d, device)
    x, bias = tm.normal(b, m, device=device), tm.normal(n, device=device)
    return (
        lambda: file.encoder_forward_v3(x, values, rows, bias, n, d),
        lambda: x.double() @ dense.T + bias.double(),
    )


@repository.case(FOLDER + "fused_corr_topk.py", "_fused_corr_topk_kernel", small=dict(b=6, m=50, n=90, d=7, k=5), production=dict(b=4096, m=512, n=2048, d=8, k=16), rtol=1e-4, atol=1e-4)  # fmt: skip
def largest_products(file, device, b, m, n, d, k):
    """Compared are the products of those that are chosen."""
    values, rows, dense = _dictionary(n, m, d, device)
    x = tm.normal(b, m, device=device)
    exact = (x.double() @ dense.T).abs()
    return (
        lambda: exact.gather(1, file.fused_corr_topk(x, values, rows, n, d, k).long()),
        lambda: exact.topk(k).values,
    )


@repository.case(FOLDER + "structured_gram_v2.py", "_structured_gram_v2_kernel", small=dict(b=3, m=50, n=90, d=7, k=40), production=dict(b=2048, m=512, n=4096, d=8, k=64), rtol=1e-4, atol=1e-4)  # fmt: skip
def gram(file, device, b, m, n, d, k):
    values, rows, dense = _dictionary(n, m, d, device)
    chosen = torch.rand(b, n).topk(k).indices.to(torch.int32).to(device)

    def want():
        columns = dense[chosen.long()]
        return columns @ columns.mT

    return lambda: file.structured_gram_v2(values, rows, chosen, d), want


@repository.case(FOLDER + "topk.py", "_topk_kernel", small=dict(b=6, n=90, k=5), production=dict(b=8192, n=4096, k=16))  # fmt: skip
def largest(file, device, b, n, k):
    x = tm.normal(b, n, device=device)
    return lambda: x.gather(1, file.topk(x, k).long()), lambda: x.topk(k).values
