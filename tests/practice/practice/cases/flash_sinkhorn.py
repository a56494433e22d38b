"""flash-sinkhorn: optimal transport between clouds of points, its plan never written down."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ot-triton-lab/flash-sinkhorn", "a01ee43d2bccace7dde67de8636b2c67dfaee0c4", packages={"flash_sinkhorn": "src"}, stand_ins={"flash_sinkhorn.sinkhorn_solvers": {}})  # fmt: skip
KERNELS = "src/flash_sinkhorn/kernels/"
SIZES = dict(small=dict(n=150, m=90, d=20), production=dict(n=16384, m=16384, d=64), rtol=1e-3, atol=1e-3)  # fmt: skip
EPS = 0.5


def _clouds(n, m, d, device):
    x, y = (tm.normal(k, d, device=device, scale=d**-0.5) for k in (n, m))
    f, g = (tm.normal(k, device=device, scale=0.2) for k in (n, m))
    a, b = (torch.rand(k).to(device) + 0.5 for k in (n, m))
    return x, y, f, g, a / a.sum(), b / b.sum()


def _costs(x, y, scale=1.0):
    return scale * (x.double()[:, None] - y.double()).square().sum(-1)


@repository.case(f"{KERNELS}sinkhorn_flashstyle_sqeuclid.py", "_flashsinkhorn_lse_raw_kernel_impl", **SIZES)  # fmt: skip
def potential(file, device, n, m, d):
    x, y, _, g, _, b = _clouds(n, m, d, device)

    def want():
        return -EPS * (2 * x.double() @ y.double().T / EPS + g.double() / EPS).logsumexp(1)

    return lambda: file.flashsinkhorn_lse(x, y, g / EPS, EPS, allow_tf32=False), want


@repository.case(f"{KERNELS}sinkhorn_flashstyle_sqeuclid.py", "_flashsinkhorn_lse_fused_kernel_impl", **SIZES)  # fmt: skip
def potential_with_weights(file, device, n, m, d):
    x, y, _, g, _, b = _clouds(n, m, d, device)

    def want():
        s = 2 * x.double() @ y.double().T / EPS + g.double() / EPS + b.double().log()
        return -EPS * s.logsumexp(1)

    return lambda: file.flashsinkhorn_lse_fused(x, y, g, b.log(), EPS, allow_tf32=False), want


@repository.case(f"{KERNELS}sinkhorn_flashstyle_sqeuclid.py", "_flashsinkhorn_symmetric_step_kernel", **SIZES)  # fmt: skip
def both_potentials(file, device, n, m, d):
    x, y, f, g, a, b = _clouds(n, m, d, device)

    def want():
        s = 2 * x.double() @ y.double().T / EPS
        new_f = -EPS * (s + g.double() / EPS + b.double().log()).logsumexp(1)
        new_g = -EPS * (s + (f.double() / EPS + a.double().log())[:, None]).logsumexp(0)
        return 0.5 * f + 0.5 * new_f, 0.5 * g + 0.5 * new_g

    return lambda: file.flashsinkhorn_symmetric_step(x, y, f, g, a.log(), b.log(), EPS, allow_tf32=False), want  # fmt: skip


@repository.case(f"{KERNELS}c_transform_sqeuclid.py", "_c_transform_kernel_impl", **SIZES)
def c_transform(file, device, n, m, d):
    x, y, _, g, _, _ = _clouds(n, m, d, device)
    bias = y.square().sum(1) - g

    def want():
        least = (bias.double() - 2 * x.double() @ y.double().T).min(1)
        return least.values, least.indices

    return lambda: file.c_transform_kernel(x, y, bias, allow_tf32=False), want


def _plan(x, y, f, g, a, b):
    s = (2 * x.double() @ y.double().T + f.double()[:, None] + g.double()) / EPS
    return s.exp() * a.double()[:, None] * b.double()


def _applied(axis, kind):
    @repository.case(f"{KERNELS}apply_flash.py", f"_apply_plan_axis{axis}_{kind}_flashstyle_kernel", name=f"plan_times_{kind}_{axis}", **SIZES)  # fmt: skip
    def build(file, device, n, m, d):
        x, y, f, g, a, b = _clouds(n, m, d, device)
        count = m if axis else n
        v = tm.normal(count, *[d] * (kind == "mat"), device=device)

        def want():
            p = _plan(x, y, f, g, a, b)
            return (p if axis else p.T) @ v.double()

        return lambda: getattr(file, f"apply_plan_{kind}_flashstyle")(x, y, f, g, a.log(), b.log(), v, eps=EPS, axis=axis), want  # fmt: skip


for _axis in (0, 1):
    for _kind in ("mat", "vec"):
        _applied(_axis, _kind)


def _sums(axis):
    @repository.case(f"{KERNELS}sinkhorn_triton_ott_sqeuclid.py", f"_lse_axis{axis}_kernel", name=f"log_sums_{axis}", **SIZES)  # fmt: skip
    def build(file, device, n, m, d):
        x, y, f, g, _, _ = _clouds(n, m, d, device)

        def want():
            s = (f.double()[:, None] + g.double() - _costs(x, y)) / EPS
            return EPS * s.logsumexp(axis) - (f if axis else g)

        return lambda: file.apply_lse_kernel_sqeuclid(x, y, f, g, EPS, axis)[0], want


_sums(0)
_sums(1)


@repository.case(f"{KERNELS}apply_ott.py", "_mat5_axis1_kernel", **SIZES)
def second_derivative_term(file, device, n, m, d):
    x, y, f, g, _, _ = _clouds(n, m, d, device)
    a = tm.normal(n, d, device=device)

    def want():
        p = ((f.double()[:, None] + g.double() - _costs(x, y)) / EPS).exp()
        return -4 / EPS * (p * (a.double() @ y.double().T)) @ y.double()

    return lambda: file.mat5_sqeuclid(x, y, f, g, a, eps=EPS), want


@repository.case(f"{KERNELS}sinkhorn_triton_grad_sqeuclid.py", "_geomloss_grad_sqeuclid_impl", **SIZES)  # fmt: skip
def gradients(file, device, n, m, d):
    x, y, f, g, a, b = _clouds(n, m, d, device)

    def want():
        c = _costs(x, y)
        p = ((g.double() - c) / EPS + b.double().log()).softmax(1)
        q = ((f.double()[:, None] - c) / EPS + a.double().log()[:, None]).softmax(0)
        return (
            2 * a.double()[:, None] * (x.double() - p @ y.double()),
            2 * b.double()[:, None] * (y.double() - q.T @ x.double()),
        )

    return lambda: file.sinkhorn_geomloss_online_grad_sqeuclid(x, y, a, b, f, g, eps=EPS, allow_tf32=False), want  # fmt: skip
