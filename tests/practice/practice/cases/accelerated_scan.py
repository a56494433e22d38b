"""accelerated-scan: recurrences of first order, real and complex, by associative scans."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("proger/accelerated-scan", "866fa4cd4eaf01338ee6d77a4f99fcd4b2f656d1")
SMALL, LARGE = dict(b=2, c=3, t=3000), dict(b=8, c=1536, t=8192)


def _case(name, file, is_complex, finds=""):
    def build(file, device, b, c, t):
        def made():
            x = tm.normal(b, c, t, device=device)
            return torch.complex(x, tm.normal(b, c, t, device=device)) if is_complex else x

        forget, inputs, up = (made() for _ in range(3))
        forget = forget / (forget.abs() + 0.1)
        wide = torch.complex128 if is_complex else torch.float64

        def gradients(function, *x):
            leaves = [a.detach().clone().requires_grad_() for a in x]
            y = function(*leaves)
            results = [y.detach(), *torch.autograd.grad(y, leaves, up.to(y.dtype))]
            return [torch.view_as_real(r) if is_complex else r for r in results]

        def right(forget, inputs):
            states, h = [], torch.zeros_like(inputs[..., 0])
            for f, x in zip(forget.unbind(-1), inputs.unbind(-1), strict=True):
                h = f * h + x
                states.append(h)
            return torch.stack(states, -1)

        return (
            lambda: gradients(file.Scan.apply, forget, inputs),
            lambda: gradients(right, forget.to(wide), inputs.to(wide)),
        )

    repository.case(file, "forward_scan, backward_scan", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-3, name=name, finds=finds)(build)  # fmt: skip


# The gradient loads states past the end: its mask has a lower bound only.
_case("real", "accelerated_scan/scalar.py", False, finds="oob-load")
_case("complex", "accelerated_scan/complex.py", True)
