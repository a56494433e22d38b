"""triton-gated-mlp: two products and their gate in a persistent kernel, and the gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton

from practice import torch_math as tm
from practice.case import Repository


def _tuned(*, key, **_):
    """One configuration, in place of the search of triton_dejavu."""

    def decorate(kernel):
        blocks = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 4}
        if hasattr(kernel, "configs"):
            return kernel
        return triton.autotune([triton.Config(blocks, num_warps=8, num_stages=3)], key=key)(kernel)

    return decorate


repository = Repository("matteobonotto/triton-gated-mlp", "9271122ceb270e79adddd751feeb8a6f65b31020", packages={"triton_gated_mlp": "src"}, stand_ins={"triton_dejavu": {"autotune": _tuned}})  # fmt: skip
OPS = "src/triton_gated_mlp/ops/"
SIZES = dict(small=dict(m=100, k=96, n=144), production=dict(m=4096, k=2048, n=8192))


def _inputs(device, m, k, n):
    x, up = (tm.normal(m, c, device=device, dtype=torch.float16) for c in (k, n))
    return x, *(tm.normal(n, k, device=device, dtype=torch.float16, scale=k**-0.5) for _ in range(2)), up  # fmt: skip


def _right(x, up, gate):
    return F.silu(x @ gate.T) * (x @ up.T)


@repository.case(OPS + "fwd.py", "_fwd_kernel", rtol=1e-2, atol=1e-2, **SIZES)
def forward(file, device, m, k, n):
    x, up, gate, _ = _inputs(device, m, k, n)
    return (
        lambda: file.mlp_hidden_states_fwd(x, up, None, gate, None, "silu", 0.0),
        lambda: _right(x.double(), up.double(), gate.double()),
    )


@repository.case(OPS + "bwd.py", "_compute_quantities_for_bwd, _compute_dx, _compute_dW_up_dW_gp", rtol=2e-2, atol=6e-2, share=1e-3, small=SIZES["small"], production=dict(m=2048, k=2048, n=4096))  # fmt: skip
def gradients(file, device, m, k, n):
    x, up, gate, grad = _inputs(device, m, k, n)

    def run():
        triton.set_allocator(lambda size, *_: torch.empty(size, dtype=torch.int8, device=device))
        return file.mlp_hidden_states_bwd(x, up, gate, grad)

    def want():
        # The last kernel steps by m from 0 to its block of 64 rows: it sums no others.
        tensors = grad.double(), x, up, gate
        dx = tm.with_gradients(_right, *tensors, exact=True)[1]
        return dx, *tm.with_gradients(_right, *(t[:64] for t in tensors[:2]), up, gate, exact=True)[2:]  # fmt: skip

    return run, want
