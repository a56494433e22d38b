"""ModelGoBrr: norms of queries and keys, a linear layer with its activation, a gated network."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("AmanSwar/ModelGoBrr", "f9a69931dad9bf9cf32456a174a8f6f98c5a8ab2", packages={"kernels": "."})  # fmt: skip
FOLDER = "kernels/Triton/"
HALF = torch.float16


@repository.case(FOLDER + "qk_norm.py", "_qknorm_fwd_kernel", rtol=1e-4, atol=1e-4, small=dict(b=2, h=3, t=7, d=80), production=dict(b=4, h=32, t=2048, d=128))  # fmt: skip
def queries_and_keys(file, device, b, h, t, d):
    q, k = (tm.normal(b, h, t, d, device=device) for _ in range(2))
    weights = [tm.normal(d, device=device) for _ in range(2)]
    return (
        lambda: file.qknorm_triton(q, k, *weights),
        lambda: [tm.rms_norm(x, w, 1e-6) for x, w in zip((q, k), weights, strict=True)],
    )


@repository.case(FOLDER + "rmsnorm.py", "_rmsnorm_fwd", rtol=1e-2, atol=1e-2, small=dict(n=9, d=700), production=dict(n=16384, d=4096))  # fmt: skip
def rms_norm(file, device, n, d):
    x, weight = (tm.normal(*s, device=device, dtype=torch.bfloat16) for s in ((n, d), (d,)))
    return lambda: file.rmsnorm_triton(x, weight), lambda: tm.rms_norm(x, weight, 1e-6)


@repository.case(FOLDER + "fused_linear.py", "fused_linear_kernel, matmul_block, silu", rtol=1e-2, atol=1e-2, small=dict(m=64, n=128, k=100), production=dict(m=4096, n=4096, k=2048))  # fmt: skip
def linear(file, device, m, n, k):
    x, bias = tm.normal(m, k, device=device, dtype=HALF), tm.normal(n, device=device, dtype=HALF)
    weight = tm.normal(k, n, device=device, dtype=HALF, scale=k**-0.5)
    return (
        lambda: file.launch_fused_linear_kernel(x, weight, bias, "silu"),
        lambda: F.silu(x.double() @ weight.double() + bias.double()),
    )


@repository.case(FOLDER + "fusedffn.py", "_subffn_silu_fwd_kernel, matmul_block, matmul_kernel, silu", rtol=2e-2, atol=2e-2, small=dict(n=128, d=128, hidden=256), production=dict(n=2048, d=2048, hidden=8192))  # fmt: skip
def gated_network(file, device, n, d, hidden):
    x = tm.normal(n, d, device=device, dtype=HALF)
    first, second = (tm.normal(d, hidden, device=device, dtype=HALF, scale=d**-0.5) for _ in range(2))  # fmt: skip
    third = tm.normal(hidden, d, device=device, dtype=HALF, scale=hidden**-0.5)
    return (
        lambda: file.ffn_silu_fwd_triton(x, first, second, third, n, hidden, d),
        lambda: (
            (F.silu(x.double() @ first.double()) * (x.double() @ second.double())) @ third.double()
        ),
    )
