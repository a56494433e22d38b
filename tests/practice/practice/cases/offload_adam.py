"""offload_adam: steps of Adam with master weights of 31 bits in two tensors, or with stochastic
rounding, and weights in groups of 4 bits."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("tascj/offload_adam", "466b80e846484281c77373933e283fa965ab6692", packages={"offload_adam": "src"})  # fmt: skip
KERNELS = "src/offload_adam/kernels/"
WEIGHTS = "src/offload_adam/qweight/"
BF16 = torch.bfloat16
STEP = dict(lr=1e-3, weight_decay=0.1, beta1=0.9, beta2=0.95, eps=1e-8, step=3)
FP4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def _states(n, device):
    states = {name: tm.normal(n, device=device, dtype=BF16) for name in ("grad", "exp_avg")}
    states["exp_avg_sq"] = tm.normal(n, device=device, dtype=BF16).abs()
    return tm.normal(n, device=device, dtype=BF16), states


def _adam(params, states, decoupled):
    """The new weights, and both averages as they are stored."""
    p, g, m, v = (x.double() for x in (params, *(states[k] for k in ("grad", "exp_avg", "exp_avg_sq"))))  # fmt: skip
    first, second = ((STEP[b] ** 3 - STEP[b]) / (STEP[b] ** 3 - 1) for b in ("beta1", "beta2"))
    if decoupled:
        p = p * (1 - STEP["lr"] * STEP["weight_decay"])
    else:
        g = g + STEP["weight_decay"] * p
    m, v = first * m + (1 - first) * g, second * v + (1 - second) * g * g
    return p - STEP["lr"] * m / (v.sqrt() + STEP["eps"]), m.to(BF16), v.to(BF16)


@repository.case(f"{KERNELS}fp31_master.py", "adam_step_fp31_master_kernel, round_to_fp31, decompose, reconstruct", share=1e-3, rtol=1e-6, small=dict(n=5000), production=dict(n=1 << 26))  # fmt: skip
def fp31_master(file, device, n):
    params, states = _states(n, device)
    errors = tm.integers(-100, 100, n, device=device, dtype=torch.int16)

    def words(p, e):
        return (p.float().view(torch.int32) + (e.int() << 1)).view(torch.float32)

    def run():
        p, own = params.clone(), {k: x.clone() for k, x in states.items()}
        own["rounding_error"] = errors.clone()
        file.adam_step_fp31_master(p, own, **STEP, decoupled_weight_decay=False)
        return words(p, own["rounding_error"]), own["exp_avg"], own["exp_avg_sq"]

    return run, lambda: _adam(words(params, errors), states, False)


@repository.case(f"{KERNELS}stochastic_rounding.py", "adam_step_stochastic_rounding_kernel, _fp32_to_bf16_sr", rtol=2**-7, atol=1e-6, small=dict(n=5000), production=dict(n=1 << 26))  # fmt: skip
def stochastic_rounding(file, device, n):
    params, states = _states(n, device)

    def run():
        p, own = params.clone(), {k: x.clone() for k, x in states.items()}
        file.adam_step_stochastic_rounding(p, own, **STEP, seed=5, decoupled_weight_decay=True)
        return p, own["exp_avg"], own["exp_avg_sq"]

    return run, lambda: _adam(params, states, True)


@repository.case(f"{WEIGHTS}int4.py", "_quantize_pack_int4_kernel", share=1e-4, small=dict(m=70, k=256), production=dict(m=14336, k=4096))  # fmt: skip
def quantise_int4(file, device, m, k):
    x = tm.normal(m, k, device=device)

    def run():
        packed, scales = file._quantize_pack_int4_triton(x, 128, torch.float32)
        shifts = torch.arange(0, 32, 4, device=device)
        return (packed.T[..., None] >> shifts & 15).flatten(1) - 8, scales

    def want():
        groups = x.double().unflatten(1, (-1, 128))
        scales = groups.abs().amax(-1, keepdim=True) / 8
        return (groups / scales).round().clamp(-8, 7).flatten(1), scales[..., 0].T

    return run, want


@repository.case(f"{WEIGHTS}int4.py", "_dequant_int4_kernel", rtol=1e-3, small=dict(m=70, k=256), production=dict(m=14336, k=4096))  # fmt: skip
def dequantise_int4(file, device, m, k):
    values = tm.integers(0, 16, k, m, device=device)
    scales = (torch.rand(k // 128, m) + 0.5).half().to(device)
    packed = tm.packed_int4(values, axis=0).contiguous()
    return (
        lambda: file._dequant_int4_triton(packed, scales, 128),
        lambda: ((values - 8) * scales.double().repeat_interleave(128, 0)).T,
    )


def _fp4(packed, device):
    codes = torch.stack([packed & 15, packed >> 4], -1).flatten(1).long()
    return torch.tensor(FP4 + [-x for x in FP4], device=device)[codes]


@repository.case(f"{WEIGHTS}nvfp4.py", "_quantize_nvfp4_kernel_soft, _fp8_e4m3_bits_to_fp32", share=1e-3, small=dict(m=70, k=128), production=dict(m=14336, k=4096))  # fmt: skip
def quantise_nvfp4(file, device, m, k):
    x = tm.normal(m, k, device=device)

    def run():
        packed, scales, whole = file._quantize_nvfp4_triton(x)
        return _fp4(packed, device), scales.float(), whole

    def want():
        blocks = x.double().unflatten(1, (-1, 16))
        whole = blocks.abs().max() / (448 * 6)
        scales = (blocks.abs().amax(-1) / 6 / whole).float().to(tm.FP8).double()
        ratio = blocks / (scales * whole)[..., None]
        steps = torch.tensor(FP4, dtype=torch.float64, device=device)
        nearest = steps[torch.bucketize(ratio.abs(), (steps[1:] + steps[:-1]) / 2)]
        return (nearest * ratio.sign()).flatten(1), scales, whole

    return run, want


@repository.case(f"{WEIGHTS}nvfp4.py", "_dequant_nvfp4_kernel_soft, _fp4_code_to_fp32, _fp8_e4m3_bits_to_fp32", small=dict(m=70, k=128), production=dict(m=14336, k=4096))  # fmt: skip
def dequantise_nvfp4(file, device, m, k):
    packed = tm.integers(0, 256, m, k // 2, device=device, dtype=torch.uint8)
    scales = torch.rand(m, k // 16).mul(4).to(tm.FP8).to(device)
    whole = torch.tensor(0.3, device=device)

    def want():
        values = _fp4(packed, device)
        return tm.dequantised_blocks(values, scales.float().double() * whole.double(), 1, 16)

    return lambda: file._dequant_nvfp4_triton(packed, scales, whole, k, torch.float32), want
