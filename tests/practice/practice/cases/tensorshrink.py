"""tensorshrink: products with 2, 4 and 8-bit weights whose outliers each tile looks for itself."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("GDNickk/tensorshrink", "a9c62e07fed1ff90e392bdc9eaf66e4d6100510e")
F16 = torch.float16
SIZES = dict(small=dict(m=9, n=100, k=256, group=64, outliers=70), rtol=2e-2, atol=2e-2)


def _outliers(n, k, count, device):
    """Rows in order, columns, and what is to be added to the weights there."""
    places = torch.randperm(n * k)[:count].sort().values.to(torch.int32)
    return [x.to(device) for x in (places // k, places % k, torch.randn(count).to(F16))]


def _weights(codes, scale, low, outliers, group):
    w = tm.dequantised_blocks(codes, scale, group) + tm.dequantised_blocks(torch.ones_like(codes), low, group)  # fmt: skip
    row, col, delta = outliers
    return w.index_put((row.long(), col.long()), delta.double(), accumulate=True)


@repository.case("triton_kernels.py", "_fused_dequant_matmul_4bit", **SIZES, production=dict(m=16, n=14336, k=8192, group=128, outliers=8000))  # fmt: skip
def four_bits(file, device, m, n, k, group, outliers):
    x = tm.normal(m, k, device=device, dtype=F16, scale=k**-0.5)
    packed = tm.integers(0, 256, n, k // 2, device=device, dtype=torch.uint8)
    scale = (torch.rand(n, k // group) * 0.2 + 0.05).to(F16).to(device)
    low, bias = -7 * scale, tm.normal(n, device=device, dtype=F16)
    row, col, delta = found = _outliers(n, k, outliers, device)

    def run():
        return file.fused_quantized_linear(
            x, packed, scale, low, bias, 4, group, k, n, F16,
            outlier_row=row, outlier_col=col, outlier_delta=delta,
        )  # fmt: skip

    def want():
        codes = torch.stack([packed & 15, packed >> 4], -1).flatten(1).double()
        return x.double() @ _weights(codes, scale, low, found, group).T + bias.double()

    return run, want


@repository.case("triton_kernels.py", "_fused_dequant_matmul_2bit, _outlier_correction_kernel", **{**SIZES, "small": dict(m=40, n=100, k=256, group=64, outliers=70)}, production=dict(m=512, n=8192, k=4096, group=128, outliers=20000))  # fmt: skip
def two_bits_of_a_codebook(file, device, m, n, k, group, outliers):
    x = tm.normal(m, k, device=device, dtype=F16, scale=k**-0.5)
    packed = tm.integers(0, 256, n, k // 4, device=device, dtype=torch.uint8)
    book = torch.tensor([-1.5, -0.4, 0.5, 1.6]).to(device)
    shape = n, k // group
    codes = [tm.integers(0, 256, *shape, device=device, dtype=torch.uint8) for _ in range(2)]
    supers = -(-n * k // group // 256)
    meta = [(torch.rand(supers, 2) * 0.004 + 0.001).to(F16).to(device) for _ in range(2)]
    row, col, delta = found = _outliers(n, k, outliers, device)

    def run():
        return file.fused_quantized_linear(
            x, packed, None, None, None, 2, group, k, n, F16,
            outlier_row=row, outlier_col=col, outlier_delta=delta, codebook=book,
            dq_scale_codes=codes[0], dq_scale_meta=meta[0],
            dq_gmin_codes=codes[1], dq_gmin_meta=meta[1],
            dq_group_size=256, n_groups=k // group,
        )  # fmt: skip

    def want():
        numbers = torch.stack([packed >> 2 * i & 3 for i in range(4)], -1).flatten(1)
        of = torch.arange(n * k // group, device=device).view(shape) // 256
        scale, low = (c.double() * t[of, 0] + t[of, 1] for c, t in zip(codes, meta, strict=True))
        return x.double() @ _weights(book[numbers.long()].double(), scale, low, found, group).T

    return run, want


@repository.case("triton_kernels.py", "_fused_dequant_matmul_8bit", **SIZES, production=dict(m=2048, n=4096, k=4096, group=128, outliers=1))  # fmt: skip
def eight_bits(file, device, m, n, k, group, outliers):
    x = tm.normal(m, k, device=device, dtype=F16, scale=k**-0.5)
    packed = tm.integers(0, 256, n, k, device=device, dtype=torch.uint8)
    scale = (torch.rand(n, k // group) * 0.02 + 0.005).to(F16).to(device)
    low = -127 * scale
    found = [x[:0] for x in _outliers(n, k, 1, device)]

    def run():
        return file.fused_quantized_linear(x, packed, scale, low, None, 8, group, k, n, F16)

    return run, lambda: x.double() @ _weights(packed.double(), scale, low, found, group).T
