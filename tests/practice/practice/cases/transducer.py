"""transducer: RNN-T and TDT losses with their gradients, by loops over a whole lattice."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "odunola499/transducer",
    "8326393d87aeed158ace5b5417b5c47d75d62bc9",
    packages={"transducer": "."},
)
FOLDER = "transducer/kernels/triton_kernels"
SMALL, LARGE = dict(b=3, t=7, u=5, v=30), dict(b=8, t=100, u=21, v=1025)
DURATIONS = [0, 1, 2, 3, 4]


def _inputs(device, b, t, u, v):
    """Activations, labels, and how many frames and labels each one has."""
    labels = tm.integers(1, v, b, u - 1, device=device, dtype=torch.int32)
    frames, counts = (torch.tensor(tm.lengths(b, most), dtype=torch.int32) for most in (t, u - 1))
    return tm.normal(b, t, u, v, device=device), labels, frames.to(device), counts.to(device)


def _likelihoods(log_probs, labels, frames, counts, durations=None):
    """The logarithms of the sums over all ways through each lattice. A blank takes one frame and a
    label none, or what ``durations`` gives a logarithm for at each place."""
    out = []
    steps = DURATIONS if durations is not None else [0, 1]
    for n in range(len(log_probs)):
        lp, y, t_end, u_end = log_probs[n], labels[n], int(frames[n]), int(counts[n])

        def ways(t, u, lp=lp, y=y, n=n):
            for i, d in enumerate(steps):
                is_place = durations is not None and 0 <= t - d < t_end
                taken = durations[n, t - d, :, i] if is_place else None
                if d and t >= d:
                    yield (t - d, u), lp[t - d, u, 0] + (taken[u] if taken is not None else 0)
                if u and t_end > t >= d and (durations is not None or not d):
                    more = taken[u - 1] if taken is not None else 0
                    yield (t - d, u - 1), lp[t - d, u - 1, y[u - 1]] + more

        alpha = {(0, 0): lp.new_zeros(())}
        for t in range(t_end):
            for u in range(u_end + 1):
                if sums := [alpha[place] + x for place, x in ways(t, u) if place in alpha]:
                    alpha[t, u] = torch.stack(sums).logsumexp(0)
        ends = [
            alpha[place] + x for place, x in ways(t_end, u_end) if place[1] == u_end if place in alpha
        ]  # fmt: skip
        out.append(torch.stack(ends).logsumexp(0))
    return torch.stack(out)


@repository.case(f"{FOLDER}/rnnt.py", "_rnnt_alpha_kernel, _rnnt_beta_kernel, _rnnt_grad_kernel, _logsumexp_pair", small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4)  # fmt: skip
def rnnt(file, device, b, t, u, v):
    acts, labels, frames, counts = _inputs(device, b, t, u, v)

    def run():
        log_probs = acts.log_softmax(-1)
        args = labels, frames, counts, 0
        alphas, likelihoods = file._launch_alphas(log_probs, *args)
        betas = file._launch_betas(log_probs, *args)
        grads = file._launch_grads(log_probs, alphas, betas, likelihoods, *args, 0.0, 0.0)
        return likelihoods, betas[:, 0, 0], grads

    def want():
        x = acts.double().cpu().requires_grad_()
        right = _likelihoods(x.log_softmax(-1), labels.cpu(), frames, counts)
        return right.detach(), right.detach(), torch.autograd.grad(-right.sum(), x)[0]

    return run, want


# Its betas, and with them the gradients, are not those of the likelihood where a sequence is shorter
# than the lattice: step by step they are the same, so only the likelihoods are compared.
@repository.case(f"{FOLDER}/tdt.py", "_tdt_alpha_kernel, _tdt_beta_kernel, _tdt_label_grad_kernel, _tdt_duration_grad_kernel, _logsumexp_pair", small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4)  # fmt: skip
def tdt(file, device, b, t, u, v):
    acts, labels, frames, counts = _inputs(device, b, t, u, v)
    durations = tm.normal(b, t, u, len(DURATIONS), device=device).log_softmax(-1)

    def run():
        log_probs = acts.log_softmax(-1)
        args = labels, frames, counts
        d = torch.tensor(DURATIONS, device=device, dtype=torch.int32)
        alphas, likelihoods = file._launch_tdt_alphas(log_probs, durations, *args, d, 0, 0.0)
        betas = file._launch_tdt_betas(log_probs, durations, *args, d, 0, 0.0)
        known = log_probs, durations, alphas, betas, likelihoods, *args, d, 0
        file._launch_tdt_label_grads(*known, 0.0, 0.0, 0.0)
        file._launch_tdt_duration_grads(*known, 0.0)
        return likelihoods

    def want():
        x, d = acts.double().cpu().log_softmax(-1), durations.double().cpu()
        return _likelihoods(x, labels.cpu(), frames, counts, d)

    return run, want
