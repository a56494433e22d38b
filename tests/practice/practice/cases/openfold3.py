"""OpenFold 3: softmax with mask and bias, by one row and by two, with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("aqlaboratory/openfold-3", "b7940cb04a7bc9f7df359206e070220982b41ef6")


for _rows, _cols in (("one_row", 130), ("two_rows", 100)):

    @repository.case("openfold3/core/kernels/triton/triton_softmax.py", "softmax_mask_bias_kernel, softmax_grad_kernel, _softmax_core, _softmax_grad_core" if _rows == "one_row" else "softmax_mask_bias_kernel_two_rows, softmax_grad_kernel_two_rows, _softmax_core, _softmax_grad_core", small=dict(b=2, h=2, n=_cols), production=dict(b=64, h=4, n=384 if _cols > 128 else 128), rtol=1e-4, atol=1e-5, name=f"softmax_{_rows}")  # fmt: skip
    def softmax(file, device, b, h, n):
        x, up = (tm.normal(1, b, h, n, n, device=device) for _ in range(2))
        mask = (torch.rand(1, b, 1, 1, n) < 0.8).float().to(device)
        bias = tm.normal(1, 1, h, n, n, device=device)

        def run():
            y = file.softmax_triton_kernel_wrapper(x, mask, bias, b * h * n, n)
            return y, file.softmax_grad_triton_kernel_wrapper(up, y, b * h * n, n)

        def want():
            wide = x.double().requires_grad_()
            y = (wide + bias.double()).masked_fill(mask == 0, -torch.inf).softmax(-1)
            return y.detach(), torch.autograd.grad(y, wide, up.double())[0]

        return run, want
