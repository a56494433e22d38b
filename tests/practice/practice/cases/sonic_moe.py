"""SonicMoE: sums over the experts of a token, gradients of biases and of the router's scores."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

_OTHERS = {
    name: {} for name in (
        "cuda", "cuda.bindings", "cuda.bindings.driver", "cutlass", "cutlass.cute",
        "cutlass.cute.runtime", "cutlass._mlir", "cutlass._mlir.dialects", "cutlass.cutlass_dsl",
        "cutlass.utils", "cutlass.cutlass_dsl", "quack", "quack.cute_dsl_utils", "quack.tile_scheduler",
        "sonicmoe.functional.moe_config", "sonicmoe.functional.tile_scheduler",
    )
}  # fmt: skip
repository = Repository(
    "Dao-AILab/sonic-moe", "8565e849c08082e12dbeb7a9de035108a60fe1b2",
    packages={"sonicmoe": ""}, stand_ins=_OTHERS,
)  # fmt: skip
BF16 = torch.bfloat16


def _routed(t, experts, k):
    """For each expert its rows: their tokens, their places among the t * k scores, where each
    expert begins."""
    ids = torch.stack([torch.randperm(experts)[:k] for _ in range(t)]).flatten()
    order = ids.argsort(stable=True)
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(ids, minlength=experts).cumsum(0)])  # fmt: skip
    return ids, order, starts


for _varlen in (False, True):

    @repository.case("sonicmoe/functional/reduction_over_k_gather.py", "token_gather_sum_kernel", small=dict(t=30, k=4, d=300), production=dict(t=16384, k=8, d=2048), rtol=1e-2, atol=1e-2, name="sums_of_varied" if _varlen else "sums_of_experts")  # fmt: skip
    def sums(file, device, t, k, d, varlen=_varlen):
        counts = torch.randint(0, k + 1, (t,)) if varlen else torch.full((t,), k)
        starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
        total = int(starts[-1])
        x = tm.normal(total, d, device=device, dtype=BF16)
        weights, order = torch.rand(total).to(device), torch.randperm(total).int().to(device)
        begin = starts.int().to(device)

        def run():
            out = torch.empty(t, d, dtype=BF16, device=device)
            w = weights if varlen else None
            file.token_gather_and_sum_varlen_K_triton(x, w, out, order, begin, t, k, d, varlen)
            return out

        def want():
            rows = x.double()[order.long()] * (weights.double()[:, None] if varlen else 1)
            tokens = torch.arange(t).repeat_interleave(counts).to(device)
            return torch.zeros(t, d, dtype=torch.float64, device=device).index_add_(0, tokens, rows)

        return run, want


@repository.case("sonicmoe/functional/backward.py", "db2_and_ds_kernel", small=dict(t=40, experts=4, k=2, d=300, block=128), production=dict(t=16384, experts=64, k=8, d=4096, block=2048), rtol=1e-3, atol=1e-3)  # fmt: skip
def gradients_of_scores(file, device, t, experts, k, d, block):
    _, order, starts = _routed(t, experts, k)
    up, bias = tm.normal(t, d, device=device, dtype=BF16), tm.normal(experts, d, device=device)
    scores, before = torch.rand(t * k).to(device), tm.normal(t * k, 3, device=device)
    tokens, places, begin = ((x.int()).to(device) for x in (order // k, order, starts))
    blocks = -(-d // block)

    def run():
        grads = torch.empty(t * k, blocks, device=device)
        bias_grad = torch.empty_like(bias)
        file.db2_and_ds_kernel[(experts, blocks)](
            up, scores, grads, before, bias, bias_grad, tokens, places, begin, d, experts, 3,
            BLOCK_H=block, BLOCK_OLD_DS_PARTIAL_N=4,
        )  # fmt: skip
        return grads.sum(1), bias_grad

    def want():
        who = torch.arange(experts).repeat_interleave(starts.diff()).to(device)
        rows = up.double()[tokens.long()]
        grads = before.double().sum(1)
        grads[places.long()] += (rows * bias.double()[who]).sum(1)
        weighted = rows * scores.double()[places.long()][:, None]
        return grads, torch.zeros_like(bias, dtype=torch.float64).index_add_(0, who, weighted)

    return run, want


@repository.case("sonicmoe/functional/backward.py", "db1_kernel", small=dict(t=90, experts=4, d=300), production=dict(t=65536, experts=64, d=2048), rtol=1e-3, atol=1e-3)  # fmt: skip
def gradients_of_biases(file, device, t, experts, d):
    up = tm.normal(t, d, device=device, dtype=BF16)
    who = torch.randint(0, experts, (t,)).sort().values
    begin = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(who, minlength=experts).cumsum(0)]).int().to(device)  # fmt: skip

    def run():
        grad = torch.empty(experts, d, device=device)
        file.db1_kernel[(experts,)](up, grad, begin, d, experts)
        return grad

    return run, lambda: torch.zeros(experts, d, dtype=torch.float64, device=device).index_add_(0, who.to(device), up.double())  # fmt: skip


@repository.case("sonicmoe/functional/backward.py", "_softmax_bwd_scatter_small_kernel, _topk_bwd_scatter_small_kernel", small=dict(t=20, experts=16, k=3), production=dict(t=65536, experts=128, k=8))  # fmt: skip
def gradients_of_router(file, device, t, experts, k):
    ids = torch.stack([torch.randperm(experts)[:k] for _ in range(t)]).int().to(device)
    scores = tm.normal(t, k, device=device).softmax(-1)
    up, before = tm.normal(t, k, device=device), tm.normal(t, experts, device=device)

    def run():
        soft, plain = before.clone(), torch.zeros(t, experts, device=device)
        file._softmax_topk_bwd(soft, before, up, scores, ids, k)
        file._topk_bwd(plain, up, ids, k)
        return soft, plain

    def want():
        inner = scores.double() * (up.double() - (scores.double() * up.double()).sum(-1, keepdim=True))  # fmt: skip
        zeros = torch.zeros(t, experts, dtype=torch.float64, device=device)
        return before.double().scatter_add(1, ids.long(), inner), zeros.scatter(1, ids.long(), up.double())  # fmt: skip

    return run, want


@repository.case("sonicmoe/functional/forward.py", "_softmax_fwd_small_kernel", small=dict(t=20, k=3), production=dict(t=65536, k=8))  # fmt: skip
def softmax_in_place(file, device, t, k):
    x = tm.normal(t, k, device=device)

    def run():
        got = x.clone()
        file._softmax_fwd_small_kernel[t,](got, got.stride(0), got.stride(1), k, 4 if k < 4 else 8)
        return got

    return run, lambda: x.double().softmax(-1)
