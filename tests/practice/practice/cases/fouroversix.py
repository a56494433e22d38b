"""fouroversix: quantisation to 3, 4 and 6 bits, floats, integers, or the better one for each block."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "mit-han-lab/fouroversix",
    "dadfad6901d473a734fe71e0b082e70ee993e23a",
    packages={"fouroversix": "src"},
    inits=tuple(f"fouroversix.quantize{part}" for part in ("", ".cuda", ".pytorch")),
)
FILE = "src/fouroversix/kernels/triton/ops.py"
SIZES = dict(small=dict(m=128, n=256), production=dict(m=8192, n=4096))
BF16 = torch.bfloat16
FOUR = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
# How far rounding can be off, relative to the element and to the largest of its block.
BITS = {"3": (0.35, 0.26), "4": (0.27, 0.11), "6": (0.14, 0.05)}


def _near(name, rule="mse", turned=False, style="nearest"):
    """Quantised and back, in one kernel."""
    rtol, part = BITS[next(c for c in name if c in BITS)]

    def build(file, device, m, n):
        x = tm.normal(m, n, device=device, dtype=BF16)
        kind = getattr(file.DataType, name)

        def run():
            y = file.pseudo_quantize(
                x, dtype=kind, scale_rule=getattr(file.ScaleRule, rule), transpose=turned,
                round_style=getattr(file.RoundStyle, style),
            ).double()  # fmt: skip
            return y.T if turned else y

        return run, lambda: x.double()

    options = "_turned" * turned + f"_{style}" * (style != "nearest") + f"_{rule}" * (rule != "mse")
    wide = 2 if style != "nearest" else 1
    repository.case(FILE, "pseudo_quantization_kernel", rtol=rtol * wide, atol=part * 3 * wide, name=name + options, **SIZES)(build)  # fmt: skip


for _name in ("nvfp4", "if4", "if6_e2m3"):
    _near(_name)
for _name in ("mxfp4", "nvint4", "nvfp6_e2m3", "mxfp6_e3m2", "nvfp3", "nvint3", "nvint6"):
    _near(_name, "static_6")
_near("nvfp4", "abs_max", turned=True)
_near("nvfp4", "static_6", style="stochastic")


@repository.case(FILE, "quantization_kernel, generic_block_scaled_quantization_kernel, convert_to_e2m1x2", rtol=0.27, atol=0.33, **SIZES)  # fmt: skip
def packed(file, device, m, n):
    x, rule, kind = tm.normal(m, n, device=device, dtype=BF16), file.ScaleRule.static_6, file.DataType.nvfp4  # fmt: skip

    def run():
        words, scales, most = file.quantize(x, dtype=kind, scale_rule=rule)
        nibbles = torch.stack([words & 15, words >> 4], -1).flatten(1).long()
        values = torch.tensor(FOUR, device=device).double()[nibbles & 7] * (1 - 2 * (nibbles >> 3))
        scales = file.from_blocked(scales.view(tm.FP8), (m, n // 16)).double()
        full = kind.quantized_value_type.get_maximum_value(rule) * kind.scale_type.get_maximum_value(rule)  # fmt: skip
        return values * scales.repeat_interleave(16, 1) * most.double() / full

    return run, lambda: x.double()


@repository.case(FILE, "rht_kernel, pseudo_quantization_kernel", rtol=0.27, atol=0.4, **SIZES)
def rotated(file, device, m, n):
    x, h = tm.normal(m, n, device=device, dtype=BF16), torch.ones(1, 1)
    while len(h) < 16:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
    h = (h / 4).to(BF16).to(device)

    def want():
        return (x.double().view(m, -1, 16) @ h.double()).view(m, n)

    return lambda: file.pseudo_quantize(x, had=h, scale_rule=file.ScaleRule.static_6), want
