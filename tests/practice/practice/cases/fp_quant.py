"""FP-Quant: 4-bit numbers after a Hadamard transform, and sums of outer products of which half are
computed."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("IST-DASLab/FP-Quant", "d2e3092f968262c4de5fb050e1aef568a280dadd")
FOLDER = "inference_lib/src/fp_quant/module/triton"
BF16 = torch.bfloat16
STEPS = ((5, 6), (3.5, 4), (2.5, 3), (1.75, 2), (1.25, 1.5), (0.75, 1), (0.25, 0.5))


def _hadamard(n, device):
    matrix = torch.ones(1, 1)
    while matrix.shape[0] < n:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return (matrix * n**-0.5).to(BF16).to(device)


def _fp4(x):
    size = torch.zeros_like(x)
    for least, value in reversed(STEPS):
        size = torch.where(x.abs() > least, value, size)
    return torch.where(x > 0, size, -size)


def _turned(x, matrix, group):
    return (x.double().view(-1, matrix.shape[0]) @ matrix.double()).view(-1, group)


for _name, _by_spread in (("by_spread", True), ("by_largest", False)):

    @repository.case(f"{FOLDER}/mxfp4.py", "mxfp4_forward_kernel", small=dict(n=3200), production=dict(n=1 << 25), rtol=1e-2, share=0.005, name=f"mxfp4_{_name}")  # fmt: skip
    def mxfp4(file, device, n, by_spread=_by_spread):
        x, matrix = tm.normal(n, device=device, dtype=BF16), _hadamard(32, device)

        def want():
            groups = _turned(x, matrix, 32)
            if by_spread:
                spread = groups.var(-1, unbiased=False, keepdim=True).sqrt() * 0.75 + 1e-8
                scale = 2 ** spread.log2().floor()
            else:
                scale = 2 ** (groups.abs().amax(-1, keepdim=True).log2().floor() - 2) * 4 / 3
            return (_fp4(groups / scale) * scale).flatten(), (groups / scale).abs().flatten() < 6

        return lambda: file.mxfp4_forward_kernel_wrapper(x, matrix, True, 0.75, by_spread), want


@repository.case(f"{FOLDER}/nvfp4.py", "nvfp4_forward_kernel", small=dict(n=3200), production=dict(n=1 << 25), rtol=1e-2, share=0.01)  # fmt: skip
def nvfp4(file, device, n):
    x, matrix = tm.normal(n, device=device, dtype=BF16), _hadamard(16, device)
    whole = torch.tensor([20.0]).to(device)

    def want():
        groups = _turned(x, matrix, 16)
        scale = (20 * groups.abs().amax(-1, keepdim=True) / 6).float().to(tm.FP8).float().double()
        return (_fp4(groups * 20 / scale) * scale / 20).flatten()

    return lambda: file.nvfp4_forward_kernel_wrapper(x, matrix, whole), want


@repository.case("src/quantization/accumulate_hessian.py", "accumulate_hessian_triton_kernel", small=dict(b=2, m=70, n=256), production=dict(b=4, m=8192, n=4096), rtol=1e-3, atol=1e-3)  # fmt: skip
def hessian(file, device, b, m, n):
    before, x = tm.normal(b, n, n, device=device), tm.normal(b, m, n, device=device, dtype=BF16)
    before = before + before.mT

    def run():
        got = before.clone()
        file.accumulate_hessian_triton_kernel[
            lambda meta: (b * -(-n // meta["BLOCK_SIZE_M"]) * -(-n // meta["BLOCK_SIZE_N"]),)
        ](got, x, n, m, False, True, b)
        return got

    return run, lambda: before.double() + x.double().mT @ x.double()
