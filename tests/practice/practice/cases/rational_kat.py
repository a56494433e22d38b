"""rational_kat: rational functions with coefficients for each group of channels."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Adamdad/rational_kat_cu", "181bae8baf19075bef94b5f62dac320b3d4b27d3")
ROWS, IMAGES = "kat_rational/rational_triton.py", "kat_rational/rational_triton2d.py"
GROUPS = 8


def _coefficients(device):
    return tm.normal(GROUPS, 6, device=device), tm.normal(GROUPS, 4, device=device, scale=0.5)


def _rational(x, a, b, axis):
    spread = [x.shape[axis] if i == axis % x.dim() else 1 for i in range(x.dim())]
    a, b = (c.repeat_interleave(x.shape[axis] // GROUPS, 0) for c in (a, b))
    above = sum(a[:, i].view(spread) * x**i for i in range(6))
    return above / (1 + sum(b[:, i].abs().view(spread) * x.abs() ** (i + 1) for i in range(4)))


def _case(name, kind, file_name, kernels, shape, axis, **sizes):
    def build(file, device, **size):
        x = tm.normal(*shape(**size), device=device)
        upstream = tm.normal(*shape(**size), device=device)
        a, b = _coefficients(device)
        end = "_2d" if axis == 1 else ""

        def run():
            if kind == "forward":
                return getattr(file, f"rational_fwd_triton{end}")(x, a, b, GROUPS)
            return getattr(file, f"rational_bwd_triton{end}")(upstream, x, a, b, GROUPS)

        def want():
            right = tm.with_gradients(
                lambda *t: _rational(*t, axis), upstream.double(), x, a, b, exact=True
            )
            return right[0] if kind == "forward" else right[1:]

        return run, want

    repository.case(file_name, kernels, rtol=1e-3, atol=1e-3, share=0.001, name=name, **sizes)(
        build
    )


_rows = dict(small=dict(n=70, d=64), production=dict(n=16384, d=3072))
_images = dict(small=dict(n=2, d=16, h=7, w=9), production=dict(n=32, d=256, h=56, w=56))
_case("rows", "forward", ROWS, "rational_fwd_kernel", lambda n, d: (1, n, d), -1, **_rows)
_case("rows_gradient", "backward", ROWS, "rational_bwd_kernel", lambda n, d: (1, n, d), -1, small=dict(n=70, d=64), production=dict(n=1024, d=3072))  # fmt: skip
_case("images", "forward", IMAGES, "rational_fwd_kernel_2d", lambda n, d, h, w: (n, d, h, w), 1, **_images)  # fmt: skip
_case("images_gradient", "backward", IMAGES, "rational_bwd_kernel_2d", lambda n, d, h, w: (n, d, h, w), 1, small=dict(n=2, d=16, h=7, w=9), production=dict(n=4, d=64, h=56, w=56))  # fmt: skip
