"""transformer_nuggets: fp8 casts that also take the next scale, and a persistent fp8 product."""

from __future__ import annotations

import sys
from types import ModuleType

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "drisspg/transformer_nuggets",
    "0e6d4fc479532ed5a5060158a8c4664893025271",
    packages={"transformer_nuggets": "."},
)
# Modules of an older Triton that are imported, but of which nothing is used here.
for name in (
    "triton.tools.experimental_descriptor",
    "triton.language.extra.cuda._experimental_tma",
):
    sys.modules.setdefault(name, ModuleType(name))
sys.modules[name].experimental_device_tensormap_create2d = None  # type: ignore[attr-defined]


@repository.case("transformer_nuggets/fp8/scaled_quant.py", "scaled_cast", rtol=0.0, atol=0.0, share=1e-4, small=dict(n=8192), production=dict(n=1 << 26))  # fmt: skip
def delayed_scale(file, device, n):
    x = tm.normal(n, device=device, dtype=torch.bfloat16)
    scale = torch.tensor(3.0).to(device)

    def run():
        most = torch.zeros((), device=device)
        return file.scaled_quant(x, scale, most), most

    return run, lambda: ((x.float() * 3).to(tm.FP8), x.abs().max())


@repository.case("transformer_nuggets/fp8/fp8_matmul.py", "matmul_kernel_persistent", rtol=1e-2, atol=1e-2, small=dict(m=150, n=200, k=208), production=dict(m=4096, n=4096, k=4096))  # fmt: skip
def persistent_matmul(file, device, m, n, k):
    a, b = (tm.fp8(rows, k, device=device) for rows in (m, n))
    a_scale, b_scale = (torch.rand(*s).to(device) * k**-0.5 for s in ((m, 1), (1, n)))

    def want():
        product = a.float().double() @ b.float().double().T
        return product * a_scale.double() * b_scale.double()

    return lambda: file.matmul_persistent(a, a_scale, b.T, b_scale, torch.bfloat16), want
