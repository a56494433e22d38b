"""OpenAI's sparse autoencoders: sparse times dense by loops over indices, fused losses."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("openai/sparse_autoencoder", "4965b941e9eb590b00b253a2c406db1e1b193942")
FILE = "sparse_autoencoder/kernels.py"
SMALL, LARGE = dict(a=20, k=5, n=64, b=48), dict(a=4096, k=32, n=32768, b=768)


def _sparse(device, a, k, n):
    ids = torch.stack([torch.randperm(n)[:k] for _ in range(a)]).to(device)
    return ids, tm.normal(a, k, device=device)


def _dense(ids, values, n):
    full = torch.zeros(ids.shape[0], n, dtype=torch.float64, device=ids.device)
    return full.scatter(1, ids, values.double())


@repository.case(FILE, "triton_sparse_dense_matmul_kernel, triton_dense_dense_sparseout_matmul_kernel, triton_sparse_transpose_dense_matmul_kernel", small=SMALL, production=LARGE, atol=1e-4)  # fmt: skip
def decoder(file, device, a, k, n, b):
    ids, values = _sparse(device, a, k, n)
    weight = tm.normal(n, b, device=device).T
    out = tm.normal(a, b, device=device)

    def ours(values, weight):
        return file.TritonDecoderAutograd.apply(ids, values, weight)

    def run():
        # A clone of a transposed weight would be laid out anew.
        leaves = values.clone().requires_grad_(), weight.detach().requires_grad_()
        result = ours(*leaves)
        return [result.detach(), *torch.autograd.grad(result, leaves, out)]

    def right(values, weight):
        return torch.zeros(a, n, dtype=torch.float64, device=device).scatter(1, ids, values) @ (
            weight.T
        )

    return run, lambda: tm.with_gradients(right, out, values, weight, exact=True)


@repository.case(FILE, "triton_add_mul_kernel", small=SMALL, production=LARGE)
def add_mul(file, device, a, k, n, b):
    x, y, z = (tm.normal(*s, device=device) for s in ((a, n), (n,), (a, n)))

    def run():
        out = x.clone()
        file.triton_add_mul_(out, y, z, 0.5)
        return out

    return run, lambda: x.double() + y.double() * z * 0.5


@repository.case(FILE, "triton_sum_dim0_in_fp32_kernel", small=SMALL, production=LARGE)
def column_sums(file, device, a, k, n, b):
    x = tm.normal(a, n, device=device, dtype=torch.float16)
    return lambda: file.triton_sum_dim0_in_fp32(x), lambda: x.double().sum(0)


@repository.case(FILE, "triton_mse_loss_fp16_kernel", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-3)  # fmt: skip
def mean_square_error(file, device, a, k, n, b):
    x, y = (tm.normal(a, n, device=device, dtype=torch.float16) for _ in range(2))
    return lambda: file.mse(x, y), lambda: (x.double() - y.double()).square().mean()
