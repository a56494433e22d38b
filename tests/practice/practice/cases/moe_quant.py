"""MoE-Quant: GPTQ of experts, step by step: scales by search, rounding, and the error spread."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "IST-DASLab/MoE-Quant", "5a3b298cfb5c475a9b6584d48b43fcebc4ddfb2f", packages={"src": "."}
)

# To know a dtype, the kernels load from a tensor of that dtype that has no elements.
OF_NOTHING = "oob-load"


def _rounded(x, dtype):
    return x if dtype is None else x.to(dtype).to(x.dtype)


def _scales(name, dtype, finds=""):
    @repository.case("src/quant_utils.py", "mse_scale_triton_kernel, tl_round_fp, tl_dequantize_quantized", small=dict(m=20, g=48), production=dict(m=1 << 18, g=128), rtol=2e-2, name=name, finds=finds)  # fmt: skip
    def build(file, device, m, g):
        x = tm.normal(m, g, device=device)
        scale, zero = 2 / 15 * x.abs().amax(1), torch.full((m,), 8.0, device=device)
        p, most = torch.linspace(1, 0.2, 60, device=device), torch.tensor(15.0, device=device)

        def want():
            tried = _rounded(scale[:, None] * p, dtype).double()[..., None]
            q = (x.double()[:, None] / tried + 8 + 0.5).floor().clamp(0, 15)
            far = (_rounded((q - 8) * tried, dtype) - x.double()[:, None]).abs().pow(2.4).sum(-1)
            return _rounded(scale * p[far.argmin(1)], dtype)

        return lambda: file.mse_scale(x, p, scale.clone(), zero, most, dtype), want


_scales("scales", None)
_scales("scales_of_fp16", torch.float16, OF_NOTHING)


def _errors(name, dtype, finds=""):
    @repository.case("src/gptq_loop.py", "quantize_error_triton_kernel, tl_quantize, tl_dequantize", small=dict(n=1000), production=dict(n=1 << 22), share=1e-3, rtol=1e-4, atol=1e-4, name=name, finds=finds)  # fmt: skip
    def build(file, device, n):
        x, scale = tm.normal(n, device=device), torch.rand(n).to(device) * 0.2 + 0.1
        zero, most = torch.full((n,), 8.0, device=device), torch.tensor(15.0, device=device)

        def run():
            y, q, error = x.clone(), torch.empty_like(x), torch.empty_like(x)
            file.quantize_error_triton(y, q, error, scale, zero, most, dtype)
            return y, q, error

        def want():
            q = (x.double() / scale + 8.5).floor().clamp(0, 15)
            y = _rounded((q - 8) * scale, dtype)
            return y, q, y - x

        return run, want


_errors("errors", None)
_errors("errors_of_bf16", torch.bfloat16, OF_NOTHING)


@repository.case("src/gptq_loop.py", "addvv_triton_kernel", small=dict(m=13, n=300), production=dict(m=128, n=1 << 16))  # fmt: skip
def outer_product(file, device, m, n):
    a, b, c = (tm.normal(*s, device=device) for s in ((m,), (n,), (m, n)))

    def run():
        out = c.clone()
        file.addvv_triton(a, b, out)
        return out

    return run, lambda: c.double() + a.double()[:, None] * b.double()


@repository.case("src/gptq_loop.py", "quantize_error_triton_kernel, addvv_triton_kernel", small=dict(n=300, k=20), production=dict(n=4096, k=256), share=2e-2, rtol=1e-3, atol=1e-3)  # fmt: skip
def loop(file, device, n, k):
    w = tm.normal(k, n, device=device)
    h = torch.eye(k) + 0.02 * torch.randn(k, k)
    h = h.triu().to(device)
    scale, zero = torch.full_like(w, 0.3), torch.full_like(w, 8.0)
    most = torch.tensor(15.0, device=device)

    def run():
        return file.gptq_loop_graph(w.clone(), h, scale, zero, most, gptq_block_size=8, direct=True)[0]  # fmt: skip

    def want():
        left = w.double().clone()
        codes = torch.empty_like(left)
        for j in range(k):
            codes[j] = (left[j] / 0.3 + 8.5).floor().clamp(0, 15)
            error = (codes[j] - 8) * 0.3 - left[j]
            left[j + 1 :] += h.double()[j, j + 1 :, None] * error
        return codes

    return run, want
