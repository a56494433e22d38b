"""2by4-pretrain: weights with two of four elements left in rows and columns, and what training
with them needs: GELU-gated units in both layouts, inverses of 4x4 blocks, a masked decay."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "huyz2023/2by4-pretrain", "9e330125dea71e5a3dee235f4efb8869f9e4cdd0", packages={"sparse": ""}
)
F16 = torch.float16


def _gelu_glu(x):
    x, gate = x.chunk(2, -1)
    return torch.nn.functional.gelu(gate, approximate="tanh") * x


for _layout, _kernels in (("rows", "_gelu_glu_fwd_kernel, _gelu_glu_bwd_kernel"), ("columns", "_gelu_glu_fwd_kernel_, _gelu_glu_bwd_kernel_")):  # fmt: skip

    @repository.case("sparse/GELUglu.py", f"{_kernels}, tanh", small=dict(b=2, n=18, d=44), production=dict(b=8, n=1024, d=8192), rtol=1e-4, name=f"gelu_glu_{_layout}")  # fmt: skip
    def gelu_glu(file, device, b, n, d, layout=_layout):
        x, up = tm.normal(b, n, d, device=device), tm.normal(b, n, d // 2, device=device)
        if layout == "columns":  # as the product with a sparse weight leaves it
            x, up = (t.flatten(0, 1).T.contiguous().T.view(t.shape) for t in (x, up))
        return (
            lambda: tm.with_gradients(file.gelu_glu.apply, up, x),
            lambda: tm.with_gradients(_gelu_glu, up, x, exact=True),
        )


@repository.case("sparse/decay.py", "masked_add_kernel", small=dict(n=1500), production=dict(n=1 << 24))  # fmt: skip
def masked_decay(file, device, n):
    grad, p = (tm.normal(n, device=device) for _ in range(2))
    mask = (torch.rand(n) < 0.5).float().to(device)

    def run():
        got = grad.clone()
        file.masked_add_(got, p, mask, alpha=0.03)
        return got

    return run, lambda: grad.double() + 0.03 * p.double() * (1 - mask.double())


@repository.case("sparse/sparse_optimizer.py", "_inverse", small=dict(m=70), production=dict(m=1 << 20), rtol=1e-3, atol=1e-4)  # fmt: skip
def inverses(file, device, m):
    x = (torch.eye(4) * 4 + torch.rand(m, 4, 4)).to(device)
    return lambda: file.inverse(x), lambda: x.double().inverse()


@repository.case("sparse/transposable_semi_structured.py", "_to_transposable_sparse_semi_structured_kernel", small=dict(m=64, k=128), production=dict(m=4096, k=4096))  # fmt: skip
def transposable(file, device, m, k):
    x = tm.normal(m, k, device=device, dtype=F16)
    pattern = file.TransposableSparse().mask_pattern.to(x)

    def want():
        tiles = x.double().unflatten(0, (-1, 4)).unflatten(-1, (-1, 4)).transpose(1, 2).flatten(-2)
        mask = pattern[(tiles.abs() @ pattern.double().T).argmax(-1)]
        mask = mask.unflatten(-1, (4, 4)).transpose(1, 2).reshape(m, k).double()
        return x.double() * mask, mask

    return lambda: file._to_transposable_sparse_semi_structured(x, pattern, True), want


def _largest(x):
    """Which two of four are largest, of the earlier ones where two are alike."""
    quads = x.unflatten(-1, (-1, 4)).abs().double()
    order = quads.sort(dim=-1, descending=True, stable=True).indices[..., :2]
    return torch.zeros_like(quads).scatter_(-1, order, 1).flatten(-2)


for _layout in ("row", "column"):

    @repository.case("sparse/triton_ops.py", "_sparse24_triton, _sparse24", small=dict(m=40, k=128), production=dict(m=4096, k=8192), name=f"two_of_four_{_layout}")  # fmt: skip
    def two_of_four(file, device, m, k, layout=_layout):
        x = tm.normal(m, k, device=device)
        x = x if layout == "row" else x.T.contiguous().T
        return lambda: file.sparse24_triton(x), lambda: (x.double() * _largest(x), _largest(x))

    @repository.case("sparse/triton_ops.py", "_soft_threshold24_triton, _soft_threshold", small=dict(m=40, k=128), production=dict(m=4096, k=8192), name=f"soft_threshold_{_layout}")  # fmt: skip
    def soft_threshold(file, device, m, k, layout=_layout):
        x = tm.normal(m, k, device=device)
        x = x if layout == "row" else x.T.contiguous().T

        def want():
            quads = x.double().unflatten(-1, (-1, 4))
            third = quads.abs().sort(-1).values[..., 1:2]
            return (quads.sign() * (quads.abs() - third).clamp(min=0)).flatten(-2), _largest(x)

        return lambda: file.soft_threshold24_triton(x), want

    @repository.case("sparse/triton_ops.py", "_MVUE24_approx_triton, _MVUE24_approx", small=dict(m=40, k=128), production=dict(m=4096, k=8192), rtol=1e-4, name=f"unbiased_{_layout}")  # fmt: skip
    def unbiased(file, device, m, k, layout=_layout):
        x = tm.normal(m, k, device=device).abs() + 0.1
        x = x if layout == "row" else x.T.contiguous().T

        def sizes():
            a = x.double().unflatten(-1, (-1, 4))
            total = a.sum(-1, keepdim=True)
            share = a / total
            each = share / (total - a)
            return a / (share + a * (each.sum(-1, keepdim=True) - each))

        def run():  # which two are kept is random, what becomes of them is not
            got = file.MVUE24_approx_triton(x).double().unflatten(-1, (-1, 4))
            return torch.where(got != 0, got, sizes()), (got != 0).sum(-1)

        return run, lambda: (sizes(), torch.full((m, k // 4), 2))
