"""MegaFold: Evoformer attention with masks and pair biases, linear layers behind layer norms."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Supercomputing-System-AI-Lab/MegaFold",
    "cdd06eea6b7dc6633764362cd0645c7054f81f99",
    packages={"megafold": "."},
    stand_ins={
        "liger_kernel.ops.utils": {
            "calculate_settings": lambda n: (1 << (n - 1).bit_length(), 4 if n < 2048 else 8),
            "ensure_contiguous": lambda function: function,
        },
        "liger_kernel.utils": {"infer_device": lambda: "cuda"},
    },
)
BF16 = torch.bfloat16


def _evo(name, backward, small, production):
    def build(file, device, b, n, s, h, d):
        q, k, v, up = (tm.normal(b, n, s, h, d, device=device, dtype=BF16) for _ in range(4))
        mask = torch.zeros(b, n, 1, 1, s).masked_fill(torch.rand(b, n, 1, 1, s) < 0.1, -1e4)
        mask = mask.to(device)
        bias = tm.normal(b, 1, h, s, s, device=device)

        def right(q, k, v, bias):
            q, k, v = (x.transpose(2, 3) for x in (q, k, v))
            x = (q @ k.transpose(-1, -2)) * d**-0.5 + bias + mask.double()
            return (x.softmax(-1) @ v).transpose(2, 3)

        def function(q, k, v, bias):
            return file.EvoformerAttention.apply(q, k, v, mask, bias)

        inputs = q, k, v, bias
        if not backward:
            return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))
        return (
            lambda: tm.with_gradients(function, up, *inputs),
            lambda: tm.with_gradients(right, up.double(), *inputs, exact=True),
        )

    kernels = "_attn_fwd" + ", _attn_bwd_preprocess, _attn_bwd_dk_dv, _attn_bwd_dq" * backward
    repository.case("megafold/model/FusedEvoAttention/evoattention.py", kernels, rtol=3e-2, atol=6e-2 if backward else 3e-2, share=1e-3, name=name, small=small, production=production)(build)  # fmt: skip


_evo("pairs", False, dict(b=1, n=3, s=40, h=2, d=32), dict(b=1, n=384, s=384, h=4, d=32))
_evo("single", False, dict(b=2, n=1, s=50, h=2, d=48), dict(b=4, n=1, s=768, h=16, d=64))
_evo("pairs_gradient", True, dict(b=1, n=3, s=40, h=2, d=32), dict(b=1, n=256, s=256, h=4, d=32))
LINEAR = "megafold/model/FusedLayernormLinear/fused_layernorm_linear.py"
SIZES = dict(small=dict(m=70, k=64, n=96), production=dict(m=147456, k=128, n=512))


def _inputs(device, m, k, n):
    x, w = tm.normal(m, k, device=device, dtype=BF16), tm.normal(k, n, device=device, dtype=BF16, scale=k**-0.5)  # fmt: skip
    return x, w, (torch.rand(k) + 0.5).to(BF16).to(device), tm.normal(k, device=device, dtype=BF16)


@repository.case(LINEAR, "_first_forward_kernel, _second_forward_kernel", rtol=3e-2, atol=6e-2, **SIZES)  # fmt: skip
def norm_linear(file, device, m, k, n):
    x, w, weight, bias = _inputs(device, m, k, n)

    def run():
        options = True, False, (128, 64, 32, 4, 2, 8, 255)
        return file.layernorm_linear_forward(x, w, None, weight, bias, *options)[0]

    return run, lambda: tm.layer_norm(x, weight, bias, 1e-5) @ w.double()


@repository.case(LINEAR, "_first_backward_kernel, _second_backward_kernel", rtol=3e-2, atol=0.1, share=2e-3, small=SIZES["small"], production=dict(m=16384, k=128, n=512))  # fmt: skip
def norm_linear_gradient(file, device, m, k, n):
    x, w, weight, bias = _inputs(device, m, k, n)
    up = tm.normal(m, n, device=device, dtype=BF16)
    mean = x.double().mean(-1)
    scale = torch.rsqrt(x.double().var(-1, unbiased=False) + 1e-5)
    mean, scale = mean.to(BF16), scale.to(BF16)

    def run():
        options = True, False, (64, 64, 32, 4, 2, 4, 255)
        dx, dw, _, *rest = file.layernorm_linear_backward(up, x, w, mean, scale, weight, bias, *options)  # fmt: skip
        return dx, dw, *rest

    def want():
        def right(x, w, weight, bias):
            return tm.layer_norm(x, weight, bias, 1e-5) @ w

        return tm.with_gradients(right, up.double(), x, w, weight, bias, exact=True)[1:]

    return run, want
