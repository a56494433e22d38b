"""sinkhorn-triton: many small matrices made doubly stochastic, in registers or not."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("gaetanX21/sinkhorn-triton", "fd0a0c5e2d892837cc3b5f97196c2735c14eaf24")


def _case(kind, small, production):
    def build(file, device, b, n):
        x = tm.normal(b, n, n, device=device)

        def want():
            a = x.double().exp()
            row = col = a.new_ones(b, n, 1)
            for _ in range(10):
                row = 1 / (a @ col + 1e-6)
                col = 1 / (a.mT @ row + 1e-6)
            return row * a * col.mT

        return lambda: getattr(file, f"sinkhorn_A_{kind}")(x, 10, 1e-6), want

    repository.case("triton_kernels.py", f"sinkhorn_A_{kind}_kernel", name=kind, rtol=1e-4, atol=1e-5, small=small, production=production)(build)  # fmt: skip


_case("in_global_memory", dict(b=5, n=12), dict(b=1 << 16, n=16))
_case("in_registers", dict(b=3, n=50), dict(b=8192, n=64))
_case("in_registers_block_packing", dict(b=40, n=12), dict(b=1 << 18, n=12))
