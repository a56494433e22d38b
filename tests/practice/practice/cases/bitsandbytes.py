"""bitsandbytes: block-wise quantisation to 8 and 4 bits, optimizers with 32-bit and 8-bit states."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "bitsandbytes-foundation/bitsandbytes",
    "95f9af309d4d5793847169c39288dcd3fcbdf564",
    packages={"bitsandbytes": "."},
)
FOLDER = "bitsandbytes/backends/triton/"
SIZES = dict(small=dict(n=4096), production=dict(n=1 << 24))


def _code(device, least=-1.0):
    """256 sorted levels, denser near 0."""
    x = torch.linspace(-1 if least else 0, 1, 256)
    return (x.sign() * x.abs() ** 1.5).to(device)


def _blocks(x, size):
    return x.double().view(-1, size)


def _nearest(x, code, size):
    """The number of the nearest level of every element, and the scales of blocks."""
    blocks = _blocks(x, size)
    top = blocks.abs().amax(-1)
    scaled = (blocks / top[:, None]).flatten()
    code = code.double()
    after = torch.searchsorted(code, scaled).clamp(1, 255)
    lower = scaled - code[after - 1] <= code[after] - scaled
    return torch.where(lower, after - 1, after), top


@repository.case(FOLDER + "kernels_8bit_quant.py", "quantize_8bit_blockwise_kernel", **SIZES, share=1e-3)  # fmt: skip
def quantize_8bit(file, device, n):
    x, code = tm.normal(n, device=device), _code(device)
    return lambda: file.quantize_blockwise_triton(x, code, 256), lambda: _nearest(x, code, 256)


@repository.case(FOLDER + "kernels_8bit_quant.py", "dequant_8bit_kernel", **SIZES)
def dequantize_8bit(file, device, n):
    a = tm.integers(0, 256, n, device=device, dtype=torch.uint8)
    top, code = tm.normal(n // 256, device=device), _code(device)
    return (
        lambda: file.dequant_8bit_blockwise(a, top, code, 256, torch.float32),
        lambda: code.double()[a.long()] * top.double().repeat_interleave(256),
    )


NF4 = (
    -1.0, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.09105004, 0.0,
    0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0,
)  # fmt: skip
FP4 = (0.0, 0.0052083333, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)


def _levels(kind):
    return torch.tensor(NF4 if kind == "nf4" else FP4 + tuple(-x for x in FP4), dtype=torch.float64)


def _quantize_4bit(file, device, kind, n):
    x = tm.normal(n, device=device)
    levels = _levels(kind)

    def run():
        top = torch.empty(n // 64, device=device)
        out = torch.empty(n // 2, 1, device=device, dtype=torch.uint8)
        file.quantize_4bit_blockwise_triton(x, 64, kind, n // 64, top, n, out)
        # Zeros of either sign, and what lies between two levels, may go to either.
        words = torch.stack([out >> 4, out & 15], -1).flatten().long().cpu()
        return levels[words].view(-1, 64) * top.cpu()[:, None], top

    def want():
        blocks = _blocks(x.cpu(), 64)
        top = blocks.abs().amax(-1, keepdim=True)
        near = (blocks[..., None] / top[..., None] - levels).abs().argmin(-1)
        return levels[near] * top, top[:, 0]

    return run, want


@repository.case(
    FOLDER + "kernels_4bit.py", "quantize_fp4_blockwise_kernel", **SIZES, share=2e-3, rtol=1e-4
)
def quantize_fp4(file, device, n):
    return _quantize_4bit(file, device, "fp4", n)


@repository.case(
    FOLDER + "kernels_4bit.py", "quantize_nf4_blockwise_kernel", **SIZES, share=2e-3, rtol=1e-4
)
def quantize_nf4(file, device, n):
    return _quantize_4bit(file, device, "nf4", n)


def _dequantize_4bit(file, device, kind, n, by_code=False):
    packed = tm.integers(0, 256, n // 2, 1, device=device, dtype=torch.uint8)
    top = torch.rand(n // 64).to(device)
    levels = _levels(kind)

    def run():
        out = torch.empty(n, device=device, dtype=torch.float16)
        if by_code:
            code = levels.float().to(device)
            file.dequantize_4bit_impl_passing_code(packed, top, 64, code, torch.float16, out)
        else:
            file.dequantize_4bit_impl(packed, top, 64, kind, torch.float16, out)
        return out

    def want():
        words = torch.stack([packed >> 4, packed & 15], -1).flatten().long().cpu()
        return (levels[words].view(-1, 64) * top.cpu().double()[:, None]).flatten()

    return run, want


@repository.case(
    FOLDER + "kernels_4bit.py", "dequant_fp4_kernel, dequantize_fp4_tree", **SIZES, rtol=1e-3
)
def dequantize_fp4(file, device, n):
    return _dequantize_4bit(file, device, "fp4", n)


@repository.case(
    FOLDER + "kernels_4bit.py", "dequant_nf4_kernel, dequantize_nf4_tree", **SIZES, rtol=1e-3
)
def dequantize_nf4(file, device, n):
    return _dequantize_4bit(file, device, "nf4", n)


@repository.case(FOLDER + "kernels_4bit.py", "dequant_4bit_kernel", **SIZES, rtol=1e-3)
def dequantize_4bit_by_code(file, device, n):
    return _dequantize_4bit(file, device, "nf4", n, by_code=True)


B1, B2, B3, ALPHA, EPS, DECAY, STEP, LR, GRADIENT = 0.9, 0.99, 0.995, 5.0, 1e-6, 0.01, 3, 1e-2, 0.5


def _updated(kind, p, g, s1, s2, decoupled=("adam", "ademamix", "lion")):
    """One step of an optimizer; gives the parameters and the new states."""
    p, g = p.double(), g.double() * GRADIENT
    if kind in decoupled:
        p = p * (1 - LR * DECAY)
    else:
        g = g + p * DECAY
    c1, c2 = 1 - B1**STEP, (1 - B2**STEP) ** 0.5
    if kind == "adam":
        s1, s2 = s1 * B1 + (1 - B1) * g, s2 * B2 + (1 - B2) * g * g
        p = p - LR / c1 * s1 / (s2.sqrt() / c2 + EPS)
    elif kind == "ademamix":
        s1 = torch.stack([s1[0] * B1 + (1 - B1) * g, s1[1] * B3 + (1 - B3) * g])
        s2 = s2 * B2 + (1 - B2) * g * g
        p = p - LR * (s1[0] / c1 + ALPHA * s1[1]) / (s2.sqrt() / c2 + EPS)
    elif kind == "momentum":
        s1 = s1 * B1 + g
        p = p - LR * s1
    elif kind == "lion":
        p, s1 = p - LR * torch.sign(s1 * B1 + (1 - B1) * g), s1 * B2 + (1 - B2) * g
    elif kind == "rmsprop":
        s1 = s1 * B1 + (1 - B1) * g * g
        p = p - LR * g / (s1.sqrt() + EPS)
    elif kind == "adagrad":
        s1 = s1 + g * g
        p = p - LR * g / (s1.sqrt() + EPS)
    return p, s1, s2


def _optimizer_32bit(kind):
    @repository.case(FOLDER + "kernels_optim.py", f"_optimizer_update_{2 if kind in ('adam', 'ademamix') else 1}state_32bit_triton_kernel", small=dict(n=3000), production=dict(n=1 << 24), rtol=1e-4, atol=1e-5, share=1e-3, name=f"{kind}_32bit")  # fmt: skip
    def case(file, device, n):
        p, g = tm.normal(n, device=device), tm.normal(n, device=device)
        shape = (2, n) if kind == "ademamix" else (n,)
        s1 = torch.rand(shape).to(device)
        s2 = torch.rand(n).to(device) if kind in ("adam", "ademamix") else None

        def run():
            state = [None if x is None else x.clone() for x in (p, s1, s2)]
            file.optimizer_update_32bit_impl(
                kind, g, *state, None, 0.0, 0.0, B1, B2, B3, ALPHA, EPS, DECAY, STEP, LR, GRADIENT
            )
            return state

        def want():
            states = [None if x is None else x.double() for x in (s1, s2)]
            return _updated(kind, p, g, *states)

        return run, want


for _kind in ("adam", "ademamix", "momentum", "lion", "rmsprop", "adagrad"):
    _optimizer_32bit(_kind)


@repository.case(FOLDER + "kernels_optim.py", "_optimizer_precondition_2state_32bit, _optimizer_update_2state_32bit_triton_kernel", small=dict(n=3000), production=dict(n=1 << 24), rtol=1e-3, atol=1e-4)  # fmt: skip
def lamb_32bit_norm(file, device, n):
    """The norm of the update, by atomics, when the update itself is not limited by it."""
    p, g = tm.normal(n, device=device), tm.normal(n, device=device)
    s1, s2 = torch.rand(n).to(device), torch.rand(n).to(device)

    def run():
        norm = torch.zeros(1, device=device)
        file.optimizer_update_32bit_impl(
            "adam", g, p.clone(), s1.clone(), s2.clone(), norm, 1e9, 1e9, B1, B2, B3, ALPHA, EPS,
            DECAY, STEP, LR, GRADIENT,
        )  # fmt: skip
        return norm

    def want():
        gradient = g.double() * GRADIENT
        m = (s1.double() * B1 + (1 - B1) * gradient) / (1 - B1**STEP)
        v = (s2.double() * B2 + (1 - B2) * gradient**2) / (1 - B2**STEP)
        return (m / (v.sqrt() + EPS)).square().sum()[None]

    return run, want


def _optimizer_8bit(kind):
    two = kind in ("adam", "ademamix")

    @repository.case(FOLDER + "kernels_optim.py", f"_optimizer_update_{2 if two else 1}state_8bit_blockwise_triton_kernel", small=dict(n=2048), production=dict(n=1 << 24), rtol=1e-3, atol=1e-4, share=5e-3, name=f"{kind}_8bit")  # fmt: skip
    def case(file, device, n):
        p, g = tm.normal(n, device=device), tm.normal(n, device=device)
        signed, positive = _code(device), _code(device, 0)
        map1 = positive if kind in ("rmsprop", "adagrad") else signed
        rows = (2, n) if kind == "ademamix" else (n,)
        s1 = tm.integers(0, 256, *rows, device=device, dtype=torch.uint8)
        s2 = tm.integers(1, 256, n, device=device, dtype=torch.uint8) if two else None
        top1 = torch.rand(*rows[:-1], n // 256).to(device) + 0.5
        top2 = torch.rand(n // 256).to(device) + 0.5 if two else None

        def run():
            state = [None if x is None else x.clone() for x in (p, s1, s2)]
            tops = [None if x is None else x.clone() for x in (top1, top2)]
            file.optimizer_update_8bit_blockwise_impl(
                kind, g, *state, B1, B2, B3, ALPHA, EPS, STEP, LR, map1,
                positive if two else None, *tops, DECAY, GRADIENT,
            )  # fmt: skip
            return state[0], tops[0], tops[1]

        def real(s, code, top):
            return (
                None
                if s is None
                else code.double()[s.long()] * top.double().repeat_interleave(256, -1)
            )

        def want():
            # Its kernel with 8-bit states decouples the decay of Adagrad, where Lion's is meant.
            states = real(s1, map1, top1), real(s2, positive, top2)
            new, a, b = _updated(kind, p, g, *states, ("adam", "ademamix", "adagrad"))
            highest = [
                None if x is None else x.unflatten(-1, (-1, 256)).abs().amax(-1) for x in (a, b)
            ]
            return new, *highest

        return run, want


for _kind in ("adam", "ademamix", "momentum", "lion", "rmsprop", "adagrad"):
    _optimizer_8bit(_kind)
