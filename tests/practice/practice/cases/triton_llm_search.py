"""tritonLLM: kernels that a search by a language model found for the tasks of KernelBench."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("adityakotha03/tritonLLM", "0e70fe59d07bd0f419ae116e53e9c8e3f3165706")
FOLDER = "output/search/openai-gpt-5/"


@repository.case(FOLDER + "50_conv_standard_2D__square_input__square_kernel.py", "conv2d_igemm_fwd_kernel", small=dict(b=2, c=3, size=30, out=20), production=dict(b=64, c=3, size=224, out=96), rtol=1e-2, atol=2e-2)  # fmt: skip
def convolution(file, device, b, c, size, out):
    """As the first one of AlexNet, as a product in tf32."""
    x = tm.normal(b, c, size, size, device=device)
    weight = tm.normal(out, c, 11, 11, device=device, scale=(c * 121) ** -0.5)
    bias = tm.normal(out, device=device)
    return (
        lambda: file.triton_conv2d_implicit_gemm(x, weight, bias, (4, 4), (2, 2)),
        lambda: F.conv2d(x.double(), weight.double(), bias.double(), 4, 2),
    )


@repository.case(FOLDER + "90_cumprod.py", "cumprod_pass1_kernel, cumprod_pass2_kernel", small=dict(m=4, n=1300), production=dict(m=2048, n=8192), rtol=1e-3, atol=1e-6)  # fmt: skip
def running_products(file, device, m, n):
    """Tiles one element after the other, then their products."""
    x = (1 + 0.02 * torch.randn(m, n)).to(device)
    return lambda: file.triton_cumprod_last_dim(x), lambda: x.double().cumprod(-1)


@repository.case(FOLDER + "40_LayerNorm.py", "_ln_reduce_kernel, _ln_finalize_stats_kernel, _ln_norm_kernel", small=dict(b=3, c=5, size=50), production=dict(b=16, c=64, size=256), rtol=1e-3, atol=1e-3)  # fmt: skip
def layer_norm(file, device, b, c, size):
    """Of large images: parts of them add up their sums with atomics."""
    x = tm.normal(b, c, size, size, device=device)
    module = file.ModelNew((c, size, size)).to(device)
    with torch.no_grad():
        module.weight.copy_(torch.randn(c, size, size))
        module.bias.copy_(torch.randn(c, size, size))

    def want():
        return F.layer_norm(
            x.double(), (c, size, size), module.weight.double(), module.bias.double()
        ).detach()

    return lambda: module(x), want
