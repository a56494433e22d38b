"""DeepSpeed: SwiGLU of its experts, and GELU, softmax and layer norm of its inference layers."""

from __future__ import annotations

from types import SimpleNamespace

import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "deepspeedai/DeepSpeed",
    "edaa7221267243c7be7fb49c5d5f5c4fb97b4641",
    packages={"deepspeed": "."},
    stand_ins={
        "deepspeed.accelerator": {
            "get_accelerator": lambda: SimpleNamespace(
                on_accelerator=lambda _: True,
                device_name=lambda: "cuda",
                is_triton_supported=lambda: True,
                is_available=lambda: True,
            )
        }
    },
)
INFERENCE = "deepspeed/ops/transformer/inference/triton/"
SMALL, LARGE = dict(m=9, n=75), dict(m=4096, n=4096)


@repository.case("deepspeed/ops/triton_ops/swiglu_triton.py", "_swiglu_fwd_kernel, _swiglu_bwd_kernel", small=SMALL, production=LARGE, rtol=1e-4)  # fmt: skip
def swiglu(file, device, m, n):
    gate, x, up = (tm.normal(m, n, device=device) for _ in range(3))
    return (
        lambda: tm.with_gradients(file.swiglu, up, gate, x),
        lambda: tm.with_gradients(lambda gate, x: F.silu(gate) * x, up, gate, x, exact=True),
    )


@repository.case(INFERENCE + "gelu.py", "gelu_kernel, gelu_functor", small=SMALL, production=LARGE)
def gelu(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.gelu(x), lambda: F.gelu(x.double())


@repository.case(INFERENCE + "softmax.py", "softmax_kernel", small=SMALL, production=LARGE)
def softmax(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.softmax(x), lambda: x.double().softmax(-1)


@repository.case(INFERENCE + "softmax.py", "masked_softmax_kernel", small=SMALL, production=LARGE)
def softmax_masked(file, device, m, n):
    x, mask = (tm.normal(m, n, device=device) for _ in range(2))
    return lambda: file.softmax(x, mask), lambda: (x.double() + mask.double()).softmax(-1)


@repository.case(INFERENCE + "layer_norm.py", "layer_norm_kernel", small=dict(m=9, n=75), production=LARGE, rtol=1e-4, atol=1e-4)  # fmt: skip
def layer_norm(file, device, m, n):
    x = tm.normal(m, n, device=device)
    w, b = (tm.normal(n, device=device) for _ in range(2))
    return lambda: file.layer_norm(x, w, b, 1e-5), lambda: tm.layer_norm(x, w, b, 1e-5)


@repository.case(INFERENCE + "layer_norm.py", "layer_norm_residual_kernel", small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4)  # fmt: skip
def layer_norm_residual(file, device, m, n):
    x, residual = (tm.normal(m, n, device=device) for _ in range(2))
    bias, w, b = (tm.normal(n, device=device) for _ in range(3))

    def want():
        return tm.layer_norm(x.double() + bias.double() + residual.double(), w, b, 1e-5)

    return lambda: file.layer_norm_residual(x, bias, residual, w, b, 1e-5), want
