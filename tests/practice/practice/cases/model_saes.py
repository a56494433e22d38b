"""Language-Model-SAEs: products with sparse codes of a few features for each token."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "OpenMOSS/Language-Model-SAEs",
    "95281ac7ea409a7407f7ef4e480a368413495531",
    stand_ins={"llamascopium.utils.logging": {}},
)
FILE = "src/llamascopium/kernels/kernels.py"
SMALL = dict(tokens=20, features=90, d=50, k=6)
PRODUCTION = dict(tokens=4096, features=16384, d=1024, k=64)


def _code(tokens, features, k, device):
    """Indices, values, and all of it as a matrix."""
    index = tm.integers(0, features, tokens, k, device=device)
    values = tm.normal(tokens, k, device=device)
    values[0, 0] = 0
    dense = torch.zeros(tokens, features, dtype=torch.float64, device=device)
    return index, values, dense.scatter_add(1, index, values.double())


@repository.case(FILE, "triton_sparse_dense_matmul_kernel", small=SMALL, production=PRODUCTION, rtol=1e-4, atol=1e-4)  # fmt: skip
def decoded(file, device, tokens, features, d, k):
    index, values, code = _code(tokens, features, k, device)
    weight = tm.normal(features, d, device=device)
    return (
        lambda: file.triton_sparse_dense_matmul(index, values, weight),
        lambda: code @ weight.double(),
    )


@repository.case(FILE, "triton_sparse_transpose_dense_matmul_kernel", small=SMALL, production=PRODUCTION, rtol=1e-4, atol=1e-4)  # fmt: skip
def gradient_of_weights(file, device, tokens, features, d, k):
    """Atomics add the rows of one feature that lie in different programs."""
    index, values, code = _code(tokens, features, k, device)
    upstream = tm.normal(tokens, d, device=device)
    return (
        lambda: file.triton_sparse_transpose_dense_matmul(index, values, upstream, features),
        lambda: code.T @ upstream.double(),
    )


@repository.case(FILE, "triton_dense_dense_sparseout_matmul_kernel", small=SMALL, production=PRODUCTION, rtol=1e-4, atol=1e-3)  # fmt: skip
def chosen_products(file, device, tokens, features, d, k):
    index, _, _ = _code(tokens, features, k, device)
    x, weight = tm.normal(tokens, d, device=device), tm.normal(features, d, device=device)
    return (
        lambda: file.triton_dense_dense_sparseout_matmul(x, weight.T, index),
        lambda: (x.double() @ weight.double().T).gather(1, index),
    )
