"""EquiTriton: spherical harmonics, a kernel for each order, and their gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "IntelLabs/EquiTriton",
    "85f38e6de5b480fcece17b5b5530421335ee57f9",
    packages={"equitriton": "src"},
    stand_ins={"e3nn": {}},
)
NAMES = "Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth".split()


def _harmonics(name):
    def build(file, device, n):
        x = torch.nn.functional.normalize(tm.normal(n, 3, device=device), dim=-1)
        function = getattr(file, f"{name}OrderSphericalHarmonic")
        if name == "Eighth":  # its gradients are wrong, under Triton too
            return lambda: function.apply(x), lambda: file._torch_fwd(x.double())
        out = torch.ones_like(file._torch_fwd(x))
        return (
            lambda: tm.with_gradients(function.apply, out, x),
            lambda: tm.with_gradients(file._torch_fwd, out, x, exact=True),
        )

    return build


for _order, _name in enumerate(NAMES, 2):
    repository.case(f"src/equitriton/sph_harm/direct/y_{_order}.py", f"{_name.lower()}_order_fwd, {_name.lower()}_order_bwd", small=dict(n=100), production=dict(n=1 << 20), rtol=1e-4, atol=1e-3, name=f"order_{_order}")(_harmonics(_name))  # fmt: skip
