"""RWKV by codekansas: the recurrence of WKV with gradients, plain and with shifted exponents."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "codekansas/rwkv", "f5d882731c31c2082d7cb0b58eacec0b8e858091", packages={"rwkv": "."},
)  # fmt: skip
FOLDER = "rwkv/triton/wkv/"


def _wkv(w, u, k, v):
    a = b = torch.zeros_like(k[:, 0])
    out = []
    for i in range(k.shape[1]):
        now, next_one = (u + k[:, i]).exp(), k[:, i].exp()
        out.append((a + now * v[:, i]) / (b + now))
        a, b = w.exp() * a + next_one * v[:, i], w.exp() * b + next_one
    return torch.stack(out, 1)


def _case(name, kernels, states):
    def build(file, device, b, m, c):
        w = -torch.rand(c, device="cpu").to(device) - 0.1
        u = tm.normal(c, device=device, scale=0.5)
        k, v, up = (tm.normal(b, m, c, device=device, scale=0.5) for _ in range(3))
        state = torch.zeros(b, states, 1, c, device=device)

        def small(parts):
            out, dw, du, dk, dv = parts
            return out, dw / m**0.5, du / m**0.5, dk, dv

        def ours(*leaves):
            return getattr(file, f"wkv_triton_{name}")(*leaves, state)[0]

        return (
            lambda: small(tm.with_gradients(ours, up, w, u, k, v)),
            lambda: small(tm.with_gradients(_wkv, up, w, u, k, v, exact=True)),
        )

    file = {"vanilla": "vanilla.py", "with_eps": "eps.py"}[name]
    repository.case(FOLDER + file, kernels, small=dict(b=2, m=7, c=40), production=dict(b=8, m=1024, c=1024), rtol=1e-3, atol=1e-3, name=name)(build)  # fmt: skip


_case("vanilla", "wkv_triton_vanilla_forward_kernel, wkv_triton_vanilla_backward_kernel", 2)
_case("with_eps", "wkv_triton_with_eps_forward_kernel, wkv_triton_with_eps_backward_kernel", 3)
