"""GPTQModel: weights in 1 to 8 bits, of GPTQ, AWQ and GGUF: unpacked, and products with them."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

OTHERS = "adapter.adapter", "models._const", "quantization", "utils.backend", "utils.python", "utils.torch", "utils.env", "nn_modules.qlinear.gguf"  # fmt: skip
repository = Repository(
    "ModelCloud/GPTQModel",
    "f4c327a17eb3e24524d5a97a3d682e3696ae6a28",
    packages={"gptqmodel": "."},
    stand_ins={
        **{f"gptqmodel.{name}": {} for name in OTHERS},
        "packaging": {"version": None},
        "gptqmodel.utils.env": {"env_flag": lambda name, default: default},
        "gptqmodel.nn_modules.qlinear.gguf": {"GGUFTorchLinear": object},
    },
)
F16 = torch.float16
GGUF = "gptqmodel/nn_modules/qlinear/gguf_triton.py"
AWQ = "gptqmodel/quantization/paroquant/modules/triton/gemm.py"
PRODUCT = dict(rtol=1e-2, atol=5e-2)


@repository.case("gptqmodel/nn_modules/triton_utils/dequant.py", "dequant_kernel", small=dict(k=64, n=96), production=dict(k=4096, n=11008), rtol=2e-3, atol=2e-3, name="dequantised_4_bits")  # fmt: skip
def dequantised(file, device, k, n, group=32, bits=4):
    values, zeros = (torch.randint(16, (rows, n)) for rows in (k, k // group))
    scales = (torch.rand(k // group, n) / 8).to(F16)
    groups = torch.arange(k, dtype=torch.int32) // group
    args = tm.packed_int4(values, axis=0), scales, tm.packed_int4(zeros), groups
    args = [x.to(device) for x in args]
    rows = groups.long()
    want = ((values - zeros[rows]).double() * scales[rows].double()).to(device)
    return lambda: file.dequant(F16, *args, bits, 32, 15), lambda: want


for _name, _small, _production in (
    ("decode", dict(m=3, k=128, n=256), dict(m=4, k=4096, n=4096)),
    ("prefill", dict(m=40, k=128, n=256), dict(m=512, k=4096, n=4096)),
):

    @repository.case(AWQ, "paroquant_gemm_kernel", small=_small, production=_production, **PRODUCT, name=f"awq_{_name}")  # fmt: skip
    def awq(file, device, m, k, n, group=64, call=f"paroquant_gemm_triton_{_name}"):
        x = tm.normal(m, k, device=device, dtype=F16)
        values, zeros = (torch.randint(16, (rows, n)) for rows in (k, k // group))
        scales = (torch.rand(k // group, n) / 50).to(F16)
        order = (0, 2, 4, 6, 1, 3, 5, 7)
        args = [tm.packed_int4(values, order), scales, tm.packed_int4(zeros, order)]
        args = [a.to(device) for a in args]
        exact = (values - zeros.repeat_interleave(group, 0)).double() * scales.double().repeat_interleave(group, 0)  # fmt: skip
        return lambda: getattr(file, call)(x, *args), lambda: x.double() @ exact.to(device)


SIZES = dict(small=dict(m=5, k=512, n=40), production=dict(m=16, k=4096, n=4096))


def _bytes(*shape):
    return torch.randint(256, shape, dtype=torch.uint8)


def _scales(*shape, scale):
    return (torch.rand(*shape) * scale).to(F16)


def _exact(q, scale, low=None):
    """Rows of blocks (b, parts, rows, n) of numbers with a scale for each part."""
    w = q.double() * scale.double()[:, :, None]
    return (w if low is None else w - low.double()[:, :, None]).flatten(0, 2)


@repository.case(GGUF, "_gguf_q1_0_g128_fused_matmul_kernel_impl", **SIZES, **PRODUCT)
def q1_0(file, device, m, k, n):
    x = tm.normal(m, k, device=device, dtype=F16)
    signs, scales = _bytes(k // 128, 16, n).to(device), _scales(k // 128, n, scale=0.1).to(device)
    bits = (signs[:, :, None].int() >> torch.arange(8, device=device)[:, None]) & 1
    want = _exact(bits.flatten(1, 2)[:, None] * 2 - 1, scales[:, None])
    return lambda: file.fused_q1_0_g128_matmul(x, signs, scales), lambda: x.double() @ want


@repository.case(GGUF, "_gguf_q4_k_fused_matmul_kernel_impl", **SIZES, **PRODUCT)
def q4_k(file, device, m, k, n):
    x, b = tm.normal(m, k, device=device, dtype=F16), k // 256
    qs = _bytes(b, 128, n).to(device)
    scales, lows = (_scales(b, 8, n, scale=s).to(device) for s in (0.02, 0.1))
    halves = torch.stack([qs & 15, qs >> 4], 1).unflatten(2, (4, 32)).transpose(1, 2).flatten(1, 2)
    want = _exact(halves, scales, lows)
    return lambda: file.fused_q4_k_matmul(x, qs, scales, lows), lambda: x.double() @ want


@repository.case(GGUF, "_gguf_q5_k_fused_matmul_kernel_impl", **SIZES, **PRODUCT)
def q5_k(file, device, m, k, n):
    x, b = tm.normal(m, k, device=device, dtype=F16), k // 256
    qs, qh = _bytes(b, 128, n).to(device), _bytes(b, 32, n).to(device)
    scales, lows = (_scales(b, 8, n, scale=s).to(device) for s in (0.01, 0.1))
    halves = torch.stack([qs & 15, qs >> 4], 1).unflatten(2, (4, 32)).transpose(1, 2).flatten(1, 2)
    high = (qh[:, None].int() >> torch.arange(8, device=device)[:, None, None]) & 1
    want = _exact(halves + 16 * high, scales, lows)
    return lambda: file.fused_q5_k_matmul(x, qs, qh, scales, lows), lambda: x.double() @ want


@repository.case(GGUF, "_gguf_q6_k_fused_matmul_kernel_impl", **SIZES, **PRODUCT)
def q6_k(file, device, m, k, n):
    x, b = tm.normal(m, k, device=device, dtype=F16), k // 256
    ql, qh = _bytes(b, 128, n).to(device), _bytes(b, 64, n).to(device)
    scales = _scales(b, 16, n, scale=0.005).to(device)
    low = torch.stack([ql & 15, ql >> 4], 1).unflatten(2, (2, 64)).transpose(1, 2).flatten(1, 3)
    high = (qh.unflatten(1, (2, 1, 32)).int() >> torch.arange(0, 8, 2, device=device)[:, None, None]) & 3  # fmt: skip
    q = (low + 16 * high.flatten(1, 3)).unflatten(1, (16, 16)).int() - 32
    return lambda: file.fused_q6_k_matmul(x, ql, qh, scales), lambda: x.double() @ _exact(q, scales)
