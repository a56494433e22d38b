"""colpali-triton: scores of pages, by the largest product of each token of a query with theirs."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("derekk024/colpali-triton", "5204dc6c65077eff36728ec58e66e155e182d040", packages={"colpali_triton": "src"})  # fmt: skip


def _case(file, device, bq, bd, nq, nd, d, dtype):
    q, p = (
        torch.nn.functional.normalize(tm.normal(*shape, device="cpu"), dim=-1).to(dtype).to(device)
        for shape in ((bq, nq, d), (bd, nd, d))
    )
    q_mask = torch.arange(nq) < torch.tensor(tm.lengths(bq, nq))[:, None]
    p_mask = torch.arange(nd) < torch.tensor(tm.lengths(bd, nd))[:, None]
    q_mask, p_mask = q_mask.to(device), p_mask.to(device)

    def want():
        out = torch.empty(bq, bd, dtype=torch.float64, device=device)
        for i in range(bd):
            products = q.double() @ p[i].double().T
            best = products.masked_fill(~p_mask[i], float("-inf")).amax(-1)
            out[:, i] = (best * q_mask).sum(-1)
        return out

    return lambda: file.maxsim_triton(q, p, query_mask=q_mask, document_mask=p_mask), want


@repository.case("src/colpali_triton/triton_maxsim.py", "_maxsim_partial_kernel, _maxsim_reduce_kernel", small=dict(bq=2, bd=3, nq=40, nd=90, d=96), production=dict(bq=16, bd=256, nq=32, nd=1024, d=128), rtol=1e-3, atol=1e-3)  # fmt: skip
def scores(file, device, bq, bd, nq, nd, d):
    return _case(file, device, bq, bd, nq, nd, d, torch.float16)


@repository.case("src/colpali_triton/triton_maxsim.py", "_maxsim_partial_kernel, _maxsim_reduce_kernel", small=dict(bq=2, bd=3, nq=40, nd=90, d=96), production=dict(bq=8, bd=128, nq=32, nd=1024, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def scores_float32(file, device, bq, bd, nq, nd, d):
    return _case(file, device, bq, bd, nq, nd, d, torch.float32)
