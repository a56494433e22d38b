"""Flash Newton-Schulz: products of Muon's iteration, and the whole of it."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "thib-s/flash-newton-schulz",
    "cdb03db0e6c59e82365426373a1601fadfdf7ab3",
    folders=(".",),
)
FILE = "newton_schulz_triton.py"
BF16 = torch.bfloat16


@repository.case(FILE, "ns_line_3_kernel", rtol=2e-2, atol=5e-2, small=dict(b=2, m=128, n=256), production=dict(b=4, m=2048, n=4096))  # fmt: skip
def product_and_sum(file, device, b, m, n):
    square = tm.normal(b, m, m, device=device, scale=m**-0.5)
    square, x = (square + square.mT).to(BF16), tm.normal(b, m, n, device=device, dtype=BF16)
    return (
        lambda: file.ns_line_3(square, x, 1.5),
        lambda: 1.5 * x.double() + square.double() @ x.double(),
    )


# Blocks on the diagonal are stored twice, some of them by two programs; with scales that bfloat16
# has rounded, the matrix is not quite symmetric, so that the two values can differ.
@repository.case(FILE, "ns_line_1_kernel, ns_line_2_kernel, ns_line_3_kernel", rtol=5e-2, atol=1e-1, share=1e-2, finds="race-same-value,race-warp-order,race-write-write", small=dict(m=128, n=256), production=dict(m=1024, n=4096))  # fmt: skip
def orthogonal(file, device, m, n):
    """Four steps; the elements of the result are about 1 / sqrt(n), and are scaled to be 1."""
    x = tm.normal(m, n, device=device)

    def want():
        y = x.to(BF16).double()
        gram = y @ y.mT
        scales = gram.abs().sum(-1).clamp(min=1e-7).rsqrt()
        y = y * scales[:, None]
        for a, b, c in (
            (4.6051, -9.6552, 5.6769),
            (4.7505, -6.0861, 2.1790),
            (2.7763, -2.3190, 0.5523),
            (2.4231, -2.2861, 0.8193),
        ):
            gram = y @ y.mT
            y = a * y + (b * gram + c * gram @ gram) @ y
        return y * n**0.5

    return lambda: file.newton_schulz_triton_aol(x) * n**0.5, want
