"""qkan: activations of quantum-inspired networks, their last layer, AdaBelief."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Jim137/qkan", "2b6266e932314e4bcf0833c48adf224c5220bdb3", packages={"qkan": "src"}
)
FOLDER = "src/qkan"
ACTIVATIONS = dict(
    silu=F.silu, gelu_exact=F.gelu, gelu_tanh=lambda x: F.gelu(x, approximate="tanh"),
    relu=F.relu, tanh=torch.tanh, sigmoid=torch.sigmoid,
)  # fmt: skip


def _activation(kind):
    def build(file, device, n):
        x, upstream = tm.normal(n, device=device), tm.normal(n, device=device)
        return (
            lambda: [
                file.triton_activation_forward(x, kind),
                file.triton_activation_backward(upstream, x, kind),
            ],
            lambda: tm.with_gradients(ACTIVATIONS[kind], upstream, x, exact=True),
        )

    return build


for _kind in ACTIVATIONS:
    repository.case(f"{FOLDER}/solver/flash/triton_activations.py", f"_{_kind}_fwd_kernel, _{_kind}_bwd_kernel", small=dict(n=3000), production=dict(n=1 << 24), rtol=1e-4, name=_kind)(_activation(_kind))  # fmt: skip


@repository.case(f"{FOLDER}/qkan_epilogue.py", "_epilogue_fwd_kernel, _epilogue_bwd_kernel", small=dict(b=9, o=10, i=20), production=dict(b=512, o=128, i=256), rtol=1e-3, atol=1e-3)  # fmt: skip
def epilogue(file, device, b, o, i):
    shapes = (b, o, i), (o, i), (o, i), (b, i), (o, i)
    inputs = [tm.normal(*shape, device=device) for shape in shapes]
    upstream = tm.normal(b, o, device=device)

    def right(p, w, pb, x, bw):
        return ((p + pb) * w + x[:, None] * bw).sum(-1)

    call = file.QKANEpilogue.apply
    return (
        lambda: tm.with_gradients(call, upstream, *inputs),
        lambda: tm.with_gradients(right, upstream, *inputs, exact=True),
    )


@repository.case(f"{FOLDER}/solver/flash/triton_linear.py", "_linear_forward_kernel", small=dict(m=33, n=40, k=50), production=dict(m=8192, n=1024, k=1024), rtol=2e-3, atol=2e-2)  # fmt: skip
def linear(file, device, m, n, k):
    x, w, b = tm.normal(m, k, device=device), tm.normal(n, k, device=device), tm.normal(n, device=device)  # fmt: skip
    return (
        lambda: file.triton_linear_forward(x, w, b),
        lambda: F.linear(x.double(), w.double(), b.double()),
    )


@repository.case(f"{FOLDER}/optim/triton_adabelief.py", "_adabelief_kernel", small=dict(n=3000), production=dict(n=1 << 24), rtol=1e-4)  # fmt: skip
def adabelief(file, device, n):
    start, grads = tm.normal(n, device=device), tm.normal(3, n, device=device)

    def steps(p, kind):
        optimiser = kind([p], lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)
        for grad in grads:
            p.grad = grad.to(p.dtype)
            optimiser.step()
        return p.detach()

    def want():
        p, m, s = start.double(), 0.0, 0.0
        for t, g in enumerate(grads.double(), 1):
            p = p * (1 - 0.01 * 0.1)
            m = 0.9 * m + 0.1 * g
            s = 0.999 * s + 0.001 * (g - m) ** 2
            p = p - 0.01 * (m / (1 - 0.9**t)) / ((s / (1 - 0.999**t)).sqrt() + 1e-8)
        return p

    return lambda: steps(start.clone().requires_grad_(), file.TritonAdaBelief), want
