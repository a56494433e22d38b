"""TurboDiffusion: norms with modulation, gated residuals and RoPE of a video transformer."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("thu-ml/TurboDiffusion", "aaecff54f819a646ad5e35b9bceb5b72ad16a144")
FILE = "TurboT2AV/LTX-2/packages/ltx-distillation/src/ltx_distillation/fast_norm_kernels.py"
BF16 = dict(rtol=1e-2, atol=1e-2)
ROWS = dict(small=dict(b=2, t=5, n=300), production=dict(b=2, t=8192, n=4096))


def _bf16(*shape, device):
    return tm.normal(*shape, device=device, dtype=torch.bfloat16)


def _norm(x):
    return tm.rms_norm(x, None, 1e-6)


@repository.case(FILE, "_rms_norm_kernel", **ROWS, **BF16)
def rms_norm(file, device, b, t, n):
    x = _bf16(b, t, n, device=device)
    return lambda: file.fast_rms_norm(x, None, 1e-6, None), lambda: _norm(x)


for _call, _kernel, _base in (
    ("fast_modulated_rms_norm", "_modulated_rms_norm_kernel", _norm),
    ("fast_modulate", "_modulation_kernel", torch.Tensor.double),
):

    @repository.case(FILE, _kernel, **ROWS, **BF16, name=_call.removeprefix("fast_"))
    def modulated(file, device, b, t, n, call=_call, base=_base):
        x, (scale, shift) = _bf16(b, t, n, device=device), _bf16(2, b, 1, n, device=device)
        rest = (1e-6, None) if base is _norm else (None,)
        return (
            lambda: getattr(file, call)(x, scale, shift, *rest),
            lambda: base(x) * (1 + scale.double()) + shift.double(),
        )


@repository.case(FILE, "_gated_residual_kernel", **ROWS, **BF16)
def gated_residual(file, device, b, t, n):
    x, residual = (_bf16(b, t, n, device=device) for _ in range(2))
    gate = _bf16(b, 1, n, device=device)
    return (
        lambda: file.fast_gated_residual(x, residual, gate, 1.0, None),
        lambda: x.double() + residual.double() * gate.double(),
    )


@repository.case(FILE, "_split_rope_kernel", small=dict(b=2, t=9, h=3, d=32), production=dict(b=2, t=8192, h=32, d=128), **BF16)  # fmt: skip
def split_rope(file, device, b, t, h, d):
    x, (cos, sin) = _bf16(b, t, h * d, device=device), _bf16(2, b, h, t, d // 2, device=device)
    cos_, sin_ = cos.transpose(1, 2), sin.transpose(1, 2)
    return (
        lambda: file.fast_split_rotary_emb(x, cos, sin, None),
        lambda: tm.rotated(x.unflatten(-1, (h, d)), cos_, sin_).flatten(2),
    )


@repository.case(FILE, "_modulated_rms_norm_ada_kernel", **ROWS, **BF16)
def modulated_by_table(file, device, b, t, n):
    x, step = _bf16(b, t, n, device=device), _bf16(b, t, 6 * n, device=device)
    table = tm.normal(6, n, device=device)
    scale, shift = (table[i].double() + step.unflatten(-1, (6, n))[..., i, :].double() for i in (1, 0))  # fmt: skip
    return (
        lambda: file.fast_modulated_rms_norm_from_ada(x, table, step, 1, 0, 6, 1e-6, None),
        lambda: _norm(x) * (1 + scale) + shift,
    )
