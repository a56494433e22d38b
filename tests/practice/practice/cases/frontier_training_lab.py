"""frontier-training-lab: a mix of two experts, triangular systems, and hyper-connections, each with
its gradient."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("sachinnchaudhary/frontier-training-lab", "cda7122b1b1db65f4d56bb498bf2cf135336f735")  # fmt: skip
SUMS = dict(rtol=1e-4, atol=1e-4)


# Each block of columns of a row stores the row's experts and their weights.
@repository.case("kernels/deepseek_moe_combine.py", "_deepseek_moe_combine_kernel, _deepseek_moe_combine_backward_vec_kernel, _deepseek_moe_combine_backward_router_kernel", small=dict(n=7, e=6, d=200), production=dict(n=4096, e=8, d=4096), rtol=1e-4, atol=1e-3, finds="race-same-value")  # fmt: skip
def combined_experts(file, device, n, e, d):
    logits, experts = tm.normal(n, e, device=device), tm.normal(n, e, d, device=device)
    shared, grad = (tm.normal(n, d, device=device) for _ in range(2))

    def combined(logits, experts, shared):
        top, ids = logits.topk(2)
        chosen = experts.gather(1, ids[..., None].expand(-1, -1, d))
        return shared + (top.softmax(-1)[..., None] * chosen).sum(1)

    def run():
        out, ids, weights = file.triton_deepseek_moe_combine(logits, experts, shared)
        grads = file.triton_deepseek_moe_combine_backward(logits, experts, shared, grad, ids, weights)  # fmt: skip
        return [out, *grads]

    return run, lambda: tm.with_gradients(combined, grad, logits, experts, shared, exact=True)


def _system(n, c, device):
    a = torch.randn(n, c, c).tril(-1) / c + torch.diag_embed(torch.rand(n, c) + 1)
    return a.to(device), tm.normal(n, c, device=device), tm.normal(n, c, device=device)


def _solved(a, u):
    return torch.linalg.solve_triangular(a, u[..., None], upper=False)[..., 0]


@repository.case("kernels/kimi_triangular_solve.py", "_triangular_solve_blockn_kernel, _triangular_solve_backward_blockn_kernel", small=dict(n=6, c=24), production=dict(n=1 << 14, c=64), **SUMS)  # fmt: skip
def triangular_systems(file, device, n, c):
    a, u, grad = _system(n, c, device)

    def want():
        w, da, du = tm.with_gradients(_solved, grad, a, u, exact=True)
        return w, da.tril(), du

    def run():
        w = file.triton_triangular_solve_blockn(a, u)
        return w, *file.triton_triangular_solve_backward_blockn(a, w, grad)

    return run, want


@repository.case("kernels/kimi_triangular_solve.py", "_triangular_solve_vec_kernel", small=dict(n=6, c=24), production=dict(n=1 << 15, c=64), **SUMS)  # fmt: skip
def triangular_system_each(file, device, n, c):
    a, u, _ = _system(n, c, device)
    return lambda: file.triton_triangular_solve_vec(a, u), lambda: _solved(a.double(), u.double())


def _balanced(raw, iters=8, eps=1e-6):
    h = torch.exp(raw - raw.amax((-1, -2), keepdim=True))
    for _ in range(iters):
        h = h / (h.sum(-2, keepdim=True) + eps)
        h = h / (h.sum(-1, keepdim=True) + eps)
    return h


@repository.case("kernels/mhc_route.py", "_mhc_route_kernel, _mhc_route_read_backward_kernel, _sinkhorn_backward_kernel", small=dict(n=5, s=4, d=200), production=dict(n=8192, s=4, d=4096), rtol=1e-4, atol=1e-3)  # fmt: skip
def hyper_connections_read(file, device, n, s, d):
    x, before, after, raw = (tm.normal(*k, device=device) for k in ((n, s, d), (n, s), (n, s), (n, s, s)))  # fmt: skip
    g = [tm.normal(*k, device=device) for k in ((n, d), (n, s), (n, s, s))]

    def run():
        results = file.triton_mhc_route(x, before, after, raw)
        grads = file.triton_mhc_route_read_backward(x, before, after, g[0], g[1])
        return [*results, *grads, file.triton_sinkhorn_backward(raw, g[2])]

    def want():
        leaves = [y.double().requires_grad_() for y in (x, before, after, raw)]
        read = (leaves[1].sigmoid()[..., None] * leaves[0]).sum(1)
        results = [read, 2 * leaves[2].sigmoid(), _balanced(leaves[3])]
        grads = torch.autograd.grad(results, leaves, [y.double() for y in g])
        return [*(y.detach() for y in results), *grads]

    return run, want


@repository.case("kernels/mhc_merge.py", "_mhc_merge_kernel, _mhc_merge_backward_vec_kernel, _mhc_merge_backward_coeff_kernel", small=dict(n=5, s=4, d=200), production=dict(n=8192, s=4, d=4096), rtol=1e-4, atol=1e-3)  # fmt: skip
def hyper_connections_merge(file, device, n, s, d):
    inputs = [tm.normal(*k, device=device) for k in ((n, s, d), (n, d), (n, s), (n, s, s))]
    grad = tm.normal(n, s, d, device=device)

    def merged(x, h, post, res):
        return res @ x + post[..., None] * h[:, None]

    return (
        lambda: [file.triton_mhc_merge(*inputs), *file.triton_mhc_merge_backward(*inputs, grad)],
        lambda: tm.with_gradients(merged, grad, *inputs, exact=True),
    )
