"""dion: the products of Newton-Schulz iterations, and the sparse update of its optimizer."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "microsoft/dion", "0a059a4542e5aa74b40dcd1dce363836c7afcd48", packages={"dion": "."}
)
SCHULZ, UPDATE = "dion/newton_schulz_triton.py", "dion/dion2_triton.py"


def iteration(function, kernel, right, square, **options):
    def build(file, device, b, m, k):
        x = tm.normal(b, m, m if square else k, device=device, scale=0.1)
        x = (x + x.mT) / 2 if square else x
        return (lambda: getattr(file, function)(x, *options["scalars"])), lambda: right(x.double())

    repository.case(SCHULZ, kernel, small=dict(b=2, m=40, k=70), production=dict(b=2, m=1024, k=4096), rtol=1e-3, atol=1e-3, finds="race-warp-order", name=function)(build)  # fmt: skip


# Blocks on the diagonal store each element and then its mirror image, with no barrier between.
iteration("ns_line_1", "ns_line_1_kernel", lambda x: x @ x.mT, False, scalars=())
iteration("ns_line_2", "ns_line_2_kernel", lambda x: 0.5 * x @ x.mT + 2 * x, True, scalars=(0.5, 2.0))  # fmt: skip


# It bounds its dot's sum only, so it is for whole blocks.
@repository.case(SCHULZ, "ns_line_3_kernel", small=dict(b=2, m=128, n=256), production=dict(b=2, m=1024, n=4096), rtol=2e-2, atol=2e-2)  # fmt: skip
def ns_line_3(file, device, b, m, n):
    square = tm.normal(b, m, m, device=device, dtype=torch.bfloat16, scale=0.1)
    x = tm.normal(b, m, n, device=device, dtype=torch.bfloat16)
    return (
        lambda: file.ns_line_3(square, x, 1.5),
        lambda: 1.5 * x.double() + square.double() @ x.double(),
    )


@repository.case(SCHULZ, "ns_line_1_kernel, ns_line_2_kernel", small=dict(m=40, n=70), production=dict(m=1024, n=4096), rtol=0.1, atol=3e-2, finds="race-warp-order")  # fmt: skip
def newton_schulz(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.newton_schulz_triton(x), lambda: file.zeropower_via_newtonschulz5(x)


def update(dim):
    def build(file, device, b, m, n, k):
        x = tm.normal(b, m, n, device=device)
        u = tm.normal(*((b, k, n) if dim == -2 else (b, m, k)), device=device)
        chosen = torch.rand(b, m if dim == -2 else n).argsort(-1)[:, :k].to(device)
        rates = [torch.tensor(rate, device=device) for rate in (0.1, 0.3, 0.01)]

        def run():
            out = x.clone()
            file.dion2_post_orthogonalize_triton([out], [u], [chosen], *rates, dim)
            return out

        def want():
            index = chosen[:, :, None].expand_as(u) if dim == -2 else chosen[:, None].expand_as(u)
            return (x.double() * (1 - 0.1 * 0.01)).scatter_add(dim, index, -0.3 * u.double())

        return run, want

    return build


for name, dim in (("update_of_rows", -2), ("update_of_columns", -1)):
    repository.case(UPDATE, "_dion2_post_ortho_kernel", small=dict(b=2, m=37, n=70, k=9), production=dict(b=4, m=2048, n=2048, k=512), rtol=1e-4, name=name)(update(dim))  # fmt: skip
