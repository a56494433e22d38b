"""Tritonformer: layer norms, cross entropy and products with their gradients, in float16."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "fattorib/tritonformer",
    "ffa47c8b8ec91d18229650b2bfa4b3953b415b48",
    packages={"tritonformer": "."},
)
FOLDER = "tritonformer/kernels/"
F16 = torch.float16


@repository.case(FOLDER + "layernorm.py", "layernorm_fwd_kernel, layernorm_dx_kernel, layernorm_da_db_kernel", rtol=2e-2, atol=2e-1, share=1e-2, small=dict(b=2, n=20, d=200), production=dict(b=8, n=2048, d=2048))  # fmt: skip
def layer_norm(file, device, b, n, d):
    x, up = (tm.normal(b, n, d, device=device, dtype=F16) for _ in range(2))
    weight, bias = torch.rand(d).to(F16).to(device) + 0.5, tm.normal(d, device=device, dtype=F16)

    def run():
        out = file.layernorm_fwd(x, weight, bias)
        sums = (s.flatten() for s in file.layernorm_da_db(up, x, 1e-5))
        return [out, file.dx_layernorm(up, x, weight, 1e-5), *sums]

    return run, lambda: tm.with_gradients(lambda *a: tm.layer_norm(*a, 1e-5), up.double(), x, weight, bias, exact=True)  # fmt: skip


# The programs load the one element of a label that another thread of theirs has stored.
@repository.case(FOLDER + "crossentropy.py", "cross_entropy_fwd_kernel, cross_entropy_bwd_kernel", finds="race-warp-order", rtol=1e-2, atol=1e-2, small=dict(n=20, v=1000), production=dict(n=4096, v=50257))  # fmt: skip
def cross_entropy(file, device, n, v):
    x = tm.normal(n, v, device=device, dtype=F16)
    labels = tm.integers(0, v, n, device=device)

    def run():
        loss, activation = file.cross_entropy_fwd(x, labels)
        return loss, file.cross_entropy_bwd(activation, labels)

    def want():
        log = x.double().log_softmax(-1)
        loss = -log.gather(1, labels[:, None])[:, 0]
        return loss, log.exp() - torch.nn.functional.one_hot(labels, v)

    return run, want


@repository.case(FOLDER + "softmax.py", "softmax_fwd_kernel, softmax_bwd_kernel", rtol=1e-3, atol=1e-5, small=dict(b=2, n=20, d=150), production=dict(b=16, n=2048, d=2048))  # fmt: skip
def softmax(file, device, b, n, d):
    x, up = (tm.normal(b, n, d, device=device) for _ in range(2))

    def run():
        out = file.softmax_fwd(x)
        return out, file.softmax_bwd(up.clone(), out)

    return run, lambda: tm.with_gradients(lambda x: x.softmax(-1), up.double(), x, exact=True)


@repository.case(FOLDER + "gemm.py", "gemm_kernel", rtol=1e-2, atol=2e-2, small=dict(b=2, m=70, n=60, k=140), production=dict(b=8, m=1024, n=2048, k=8192))  # fmt: skip
def linear_relu(file, device, b, m, n, k):
    x = tm.normal(b, m, n, device=device, dtype=F16)
    weight = tm.normal(n, k, device=device, dtype=F16, scale=n**-0.5)
    bias = tm.normal(k, device=device, dtype=F16)
    return (
        lambda: file.gemm(x, weight, bias, fuse_relu=True),
        lambda: (x.double() @ weight.double() + bias.double()).relu(),
    )


@repository.case(FOLDER + "gemm.py", "bmm_kernel", rtol=1e-2, atol=5e-2, small=dict(b=2, m=70, n=60, k=140), production=dict(b=64, m=1024, n=1024, k=128))  # fmt: skip
def products(file, device, b, m, n, k):
    x, y = (tm.normal(b, *s, device=device, dtype=F16) for s in ((m, n), (n, k)))
    return lambda: file.bmm(x, y), lambda: x.double() @ y.double()
