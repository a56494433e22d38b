"""CGGR: how difficult tokens are, a choice of them, and grouped products of experts."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("MinimaML/CGGR", "1762989de5c46685e87fd850395ece7c567b2f75", folders=(".",))
FILE, PERSISTENT = "triton_kernels.py", "persistent_cggr_kernels.py"


@repository.case(FILE, "_fused_scoring_kernel", rtol=1e-3, atol=1e-4, small=dict(n=7, v=700), production=dict(n=4096, v=50304))  # fmt: skip
def difficulty(file, device, n, v):
    logits = tm.normal(n, v, device=device, scale=2.0)
    targets = tm.integers(0, v, n, device=device)

    def want():
        logs = logits.double().log_softmax(-1)
        most = logs.exp().max(-1).values
        entropy = -(logs.exp() * logs).sum(-1)
        return entropy - logs.gather(-1, targets[:, None])[:, 0], most, entropy

    def run():
        total, most, entropy = file._triton_difficulty_score(logits, targets, "entropy")
        return total + most, most, entropy

    return run, want


@repository.case(FILE, "_mask_threshold_kernel", rtol=0, atol=0, small=dict(n=3000), production=dict(n=1 << 24))  # fmt: skip
def hardest_tokens(file, device, n):
    """Its wrapper gives the threshold as a tensor, which Triton takes for a pointer, and does
    without the kernel then."""
    difficulty = tm.normal(n, device=device)
    threshold = difficulty.topk(n // 4).values[-1].item()

    def run():
        chosen = torch.empty_like(difficulty)
        file._mask_threshold_kernel[(-(-n // 1024),)](
            difficulty, chosen, threshold, n, BLOCK_SIZE=1024
        )
        return chosen

    return run, lambda: difficulty >= threshold


@repository.case(FILE, "_sequence_coverage_kernel", rtol=0, atol=0, small=dict(b=5, t=100, least=6), production=dict(b=512, t=4096, least=16))  # fmt: skip
def some_of_each_sequence(file, device, b, t, least):
    """Not by the wrapper, which hides what goes wrong."""
    difficulty = torch.randperm(b * t).float().view(b, t).to(device)
    chosen = (torch.rand(b, t) < torch.arange(b)[:, None] * 3 / b / t).float().to(device)

    def run():
        out, block = chosen.clone(), file.triton.next_power_of_2(t)
        file._sequence_coverage_kernel[(b,)](difficulty, out, b, t, least, BLOCK_SIZE=block)
        return out

    def want():
        out = chosen.clone()
        for row in range(b):
            more = least - int(out[row].sum())
            if more > 0:
                left = difficulty[row].masked_fill(out[row] > 0, -1)
                out[row, left.topk(more).indices] = 1
        return out

    return run, want


@repository.case(PERSISTENT, "_software_pipelined_gemm_kernel", rtol=1e-2, atol=1e-2, small=dict(counts=(70, 3, 150), n=130, k=100), production=dict(counts=(700, 1024, 300, 2000), n=8192, k=2048))  # fmt: skip
def products_of_experts(file, device, counts, n, k):
    rows = [tm.normal(c, k, device=device, dtype=torch.float16) for c in counts]
    weights = [tm.normal(k, n, device=device, dtype=torch.float16, scale=k**-0.5) for _ in counts]
    return (
        lambda: file.persistent_grouped_gemm(rows, weights),
        lambda: [a.double() @ b.double() for a, b in zip(rows, weights, strict=True)],
    )


@repository.case(PERSISTENT, "_cooperative_token_route_kernel", rtol=0, atol=0, small=dict(n=100, experts=6), production=dict(n=16384, experts=64))  # fmt: skip
def chosen_experts(file, device, n, experts):
    """The best expert of each token, and how many tokens each one has."""
    logits = torch.rand(n, experts).to(device)

    def run():
        best = torch.empty(n, dtype=torch.int32, device=device)
        counts = torch.zeros(experts, dtype=torch.int32, device=device)
        begin = torch.zeros(experts + 1, dtype=torch.int32, device=device)
        file._cooperative_token_route_kernel[(file.triton.cdiv(n, 32),)](
            logits, best, counts, begin, n, experts, top_k=1, BLOCK_SIZE=32
        )
        return best, counts

    def want():
        best = logits.argmax(-1)
        return best, best.bincount(minlength=experts)

    return run, want
