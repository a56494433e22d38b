"""Primus-Turbo: routing by groups of experts with its gradient, experts as indices and as flags."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("AMD-AGI/Primus-Turbo", "a6a16cdce46bd2235a248b41f501fb363c215b9b", packages={"primus_turbo": "."})  # fmt: skip
FOLDER = "primus_turbo/triton"
ROUTING = "fused_scaling_group_sum_routing_kernel, fused_scaling_group_sum_routing_backward_kernel, argsort, _bitonic_merge, _compare_and_swap, _to_int_bitcast"  # fmt: skip


for _function, _experts in (("sigmoid", 64), ("softmax", 64), ("sigmoid", 40)):

    @repository.case(f"{FOLDER}/moe/fused_router_kernel.py", ROUTING, small=dict(s=12, e=_experts, g=4, groups=2, k=4), production=dict(s=8192, e=_experts * 4, g=8, groups=4, k=8), rtol=1e-4, atol=1e-5, name=f"routing_{_function}_{_experts}")  # fmt: skip
    def routing(file, device, s, e, g, groups, k, function=_function):
        logits, up, up_scores = (tm.normal(s, e, device=device) for _ in range(3))
        kind, scale = int(function == "softmax"), 2.5
        aligned = 1 << (e - 1).bit_length()

        def run():
            scores, probs, g_probs, g_scores = (torch.zeros(s, e, device=device) for _ in range(4))
            index = torch.zeros(s, k, dtype=torch.int32, device=device)
            top, chosen = torch.zeros(s, k, device=device), torch.zeros(s, e, dtype=torch.int32, device=device)  # fmt: skip
            file.fused_scaling_group_sum_routing_kernel[(s // 2,)](
                logits, scores, index, top, probs, chosen, s, e, g, k, groups, aligned,
                max(1, k // groups), 2, kind, scale,
            )  # fmt: skip
            file.fused_scaling_group_sum_routing_backward_kernel[(s // 2,)](
                up, up_scores, logits, probs, index, top, scores, chosen, g_probs, g_scores, s, e,
                k, 1 << (k - 1).bit_length(), aligned, 2, kind, scale,
            )  # fmt: skip
            return scores, probs, chosen, g_probs, g_scores

        def want():
            wide = logits.double().requires_grad_()
            all_scores = wide.softmax(-1) if kind else wide.sigmoid()
            scores = all_scores if kind else all_scores / all_scores.sum(-1, keepdim=True)
            grouped = all_scores.unflatten(-1, (g, -1))
            best = grouped.topk(k // groups, -1).values.sum(-1).topk(groups, -1).indices
            allowed = torch.zeros(s, g, device=device).scatter(1, best, 1).bool()
            inside = grouped.masked_fill(~allowed[..., None], -1).flatten(1)
            index = inside.topk(k, -1).indices
            chosen = torch.zeros(s, e, dtype=torch.int32, device=device).scatter(1, index, 1)
            top = all_scores * chosen
            probs = scale * (top if kind else top / top.sum(-1, keepdim=True))
            first = torch.autograd.grad(probs, wide, up.double(), retain_graph=True)[0]
            second = torch.autograd.grad(scores, wide, up_scores.double())[0]
            if not kind:
                first = first * chosen
            return scores.detach(), probs.detach(), chosen, first, second

        return run, want


@repository.case(f"{FOLDER}/moe/multihot_to_indices.py", "_indices_to_multihot_kernel, _multihot_to_indices_kernel", small=dict(s=20, e=6, k=3), production=dict(s=8192, e=60, k=6))  # fmt: skip
def flags(file, device, s, e, k):
    index = torch.stack([torch.randperm(e + 2)[:k] for _ in range(s)])
    index = index.masked_fill(index >= e, -1).to(torch.int32).to(device)
    probs = torch.rand(s, k).to(device) * (index >= 0)
    powers = 1 << (e - 1).bit_length(), 1 << (k - 1).bit_length()

    def run():
        flag, place = (torch.empty(s, e, dtype=torch.int32, device=device) for _ in range(2))
        spread, back = torch.empty(s, e, device=device), torch.empty(s, k, device=device)
        sizes = e, powers[0], k, powers[1], 32
        file._indices_to_multihot_kernel[(s,)](index, probs, flag, spread, place, *sizes)
        file._multihot_to_indices_kernel[(s,)](spread, place, back, *sizes)
        return flag, spread, back

    def want():
        wide = torch.zeros(s, e + 1, device=device)
        at = torch.where(index < 0, e, index).long()
        return wide.scatter(1, at, 1.0)[:, :e], wide.scatter(1, at, probs)[:, :e], probs

    return run, want


@repository.case(f"{FOLDER}/moe/tokens_per_expert_to_mask_kernel.py", "tokens_per_expert_to_mask_kernel", small=dict(e=5, most=700), production=dict(e=60, most=100000))  # fmt: skip
def mask(file, device, e, most):
    counts = torch.randint(0, most // e, (e,)).to(device)

    def run():
        out = torch.zeros(most, dtype=torch.int64, device=device)
        file.tokens_per_expert_to_mask_kernel[(-(-most // 256),)](counts, out, e, 64, 256)
        return out

    return run, lambda: (torch.arange(most, device=device) < counts.sum()).long()


@repository.case(f"{FOLDER}/reduce/reduce_kernel.py", "kernel_consumer_reduce_async_tp", small=dict(ranks=4, m=9, n=40), production=dict(ranks=8, m=1024, n=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def ranks_added(file, device, ranks, m, n):
    x = tm.normal(ranks * m, n, device=device, dtype=torch.bfloat16)

    def run():
        out = torch.empty(m, n, dtype=torch.bfloat16, device=device)
        file.kernel_consumer_reduce_async_tp[(-(-m * n // 256),)](x, out, m, n, 1, ranks, True, 256)
        return out

    return run, lambda: x.double().view(ranks, m, n).mean(0)
