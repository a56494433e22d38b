"""SparseTriton: convolution over the voxels of a sparse tensor, and its dense form."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ptj0225/SparseTriton", "20345462ea462f17f33f1e3f504b86117119b5e6", packages={"sparsetriton": "."})  # fmt: skip


def _right(x, w, neighbours):
    seen = (neighbours >= 0).double()[..., None]
    return sum((x[neighbours[:, i].clamp(0)] * seen[:, i]) @ w[i] for i in range(len(w)))


def _convolution(gradients, dtype):
    def build(file, device, n, ci, co):
        x = tm.normal(n, ci, device=device, dtype=dtype)
        w = tm.normal(27, ci, co, device=device, dtype=dtype, scale=ci**-0.5)
        up = tm.normal(n, co, device=device, dtype=dtype)
        near = torch.randint(0, n, (n, 27)).masked_fill(torch.rand(n, 27) < 0.6, -1)
        apply = file.ConvPrecomputedNeighborGEMM.apply
        near_there = near.to(torch.int32).to(device)
        if gradients:
            return (
                lambda: tm.with_gradients(lambda x, w: apply(x, w, near_there), up, x, w)[1:],
                lambda: tm.with_gradients(lambda x, w: _right(x, w, near), up.cpu(), x.cpu(), w.cpu(), exact=True)[1:],
            )  # fmt: skip
        return lambda: apply(x, w, near_there), lambda: _right(
            x.cpu().double(), w.cpu().double(), near
        )

    return build


CONVOLUTION = "sparsetriton/nn/functional/conv/funcs/implicit_precomputed_gemm.py"
SIZES = dict(small=dict(n=150, ci=20, co=24), production=dict(n=50000, ci=64, co=64))
repository.case(CONVOLUTION, "precomputed_fwd_kernel", **SIZES, rtol=1e-2, atol=2e-2, name="convolution")(_convolution(False, torch.float32))  # fmt: skip
repository.case(CONVOLUTION, "precomputed_fwd_kernel", **SIZES, rtol=1e-2, atol=2e-2, name="convolution_fp16")(_convolution(False, torch.float16))  # fmt: skip
repository.case(CONVOLUTION, "precomputed_bwd_feat_kernel, precomputed_bwd_weight_kernel", **SIZES, rtol=1e-2, atol=1e-1, share=1e-3, name="convolution_gradients")(_convolution(True, torch.float32))  # fmt: skip


@repository.case("sparsetriton/utils/to_dense.py", "_to_dense_fwd_kernel, _to_dense_bwd_kernel", small=dict(n=100, c=20, side=8), production=dict(n=100000, c=64, side=96))  # fmt: skip
def to_dense(file, device, n, c, side):
    cells = torch.randperm(2 * side**3)[:n]
    cells[0] = 2 * side**3 - 1 if not (cells == 2 * side**3 - 1).any() else cells[0]
    parts = (cells // side**3, cells // side**2 % side, cells // side % side, cells % side)
    coords = torch.stack(parts, 1).to(torch.int16).to(device)
    x, up = tm.normal(n, c, device=device), tm.normal(2, side, side, side, c, device=device)

    def right(x):
        return x.new_zeros(2 * side**3, c).index_copy(0, cells, x).view(2, side, side, side, c)

    return (
        lambda: tm.with_gradients(
            lambda x: file.ToDenseFunction.apply(x, coords, (side,) * 3, 2), up, x
        ),  # fmt: skip
        lambda: tm.with_gradients(right, up.cpu(), x.cpu(), exact=True),
    )
