"""RL-Kernel: ratios of probabilities and divergences of chosen tokens with their gradient, rewards
in relation to their group, and logarithms of probabilities straight from the hidden states."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("RL-Align/RL-Kernel", "202f0e30e56729d10f74586e37166fac91c00ac6", packages={"rl_engine": "."})  # fmt: skip
LOSS = "rl_engine/kernels/ops/triton/loss/"


@repository.case(LOSS + "ratio_kl.py", "_ratio_kl_fwd_kernel, _ratio_kl_bwd_kernel", small=dict(b=2, t=5, v=3000), production=dict(b=4, t=512, v=32000), rtol=1e-4, atol=1e-5)  # fmt: skip
def ratio_and_divergence(file, device, b, t, v):
    """A third of the tokens does not count."""
    policy, reference = (tm.normal(b, t, v, device=device) for _ in range(2))
    ids = tm.integers(0, v, b, t, device=device)
    counts = torch.arange(b * t).view(b, t).remainder(3).ne(1).to(device)
    exact = policy.double().log_softmax(-1).gather(-1, ids[..., None])[..., 0]
    old = (exact + tm.normal(b, t, device=device) / 10).float()
    grads = [tm.normal(b, t, device=device) for _ in range(2)]

    def differentiated(function, x):
        x = x.detach().requires_grad_()
        results = function(x)
        dx = torch.autograd.grad(results, x, [g.to(x.dtype) for g in grads])
        return [*(y.detach() for y in results), *dx]

    def right(x):
        chosen, other = (y.log_softmax(-1).gather(-1, ids[..., None])[..., 0] for y in (x, reference.double()))  # fmt: skip
        d = other - chosen
        ratio = torch.where(counts, torch.exp(chosen - old.double()), 1.0)
        return ratio, torch.where(counts, torch.exp(d) - d - 1, 0.0)

    op = file.TritonRatioKLOp()
    return (
        lambda: differentiated(lambda x: op(x, reference, ids, counts, old), policy),
        lambda: differentiated(right, policy.double()),
    )


@repository.case(LOSS + "grpo_loss.py", "_group_norm_kernel", small=dict(groups=5, most=12), production=dict(groups=1 << 17, most=64), rtol=1e-4, atol=1e-4)  # fmt: skip
def advantages(file, device, groups, most):
    lengths = torch.randint(8, most + 1, (groups,)).tolist()
    bounds, rewards = tm.starts(lengths, device), tm.normal(sum(lengths), device=device)

    def want():
        group = torch.repeat_interleave(torch.arange(groups, device=device), bounds.diff().long())
        x, count = rewards.double(), bounds.diff().double()
        sums = torch.zeros(2, groups, dtype=x.dtype, device=device)
        mean = sums[0].index_add(0, group, x) / count
        rest = x - mean[group]
        return rest / (sums[1].index_add(0, group, rest.square()) / count).sqrt()[group]

    return lambda: file.TritonGRPOLossOp().group_advantages(rewards, group_boundaries=bounds), want


@repository.case(LOSS + "linear_logp.py", "_linear_logp_fwd_kernel", small=dict(n=40, d=72, v=300), production=dict(n=4224, d=512, v=32000), rtol=1e-3, atol=1e-3)  # fmt: skip
def logp_of_hidden(file, device, n, d, v):
    x = tm.normal(n, d, device=device, dtype=torch.float16)
    weight = tm.normal(v, d, device=device, dtype=torch.float16) / d**0.5
    bias, ids = tm.normal(v, device=device), tm.integers(0, v, n, device=device)

    def want():
        logits = x.double() @ weight.double().T + bias.double()
        return logits.log_softmax(-1).gather(-1, ids[:, None])[:, 0]

    return lambda: file._LinearLogpFunction.apply(x, weight, bias, ids), want
