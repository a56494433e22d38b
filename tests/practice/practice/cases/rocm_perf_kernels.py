"""ROCm's Triton: its perf-kernels: norms by programs that stay, and products with few rows."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import PYTEST, Repository

repository = Repository("ROCm/triton", "4a7afd262352be86cf2a10ef379469febaccf1bf", stand_ins=PYTEST)
FOLDER = "python/perf-kernels/"


def _rms_norm(file, x, weight, most, warps):
    """The configurations have options of AMD's: the kernel itself, with a number of warps."""
    (m, n), programs = x.shape, min(x.shape[0], 132)
    block = min(most, 1 << (n - 1).bit_length())

    def run():
        y = torch.zeros_like(x)
        file.rms_kernel.fn[(programs,)](
            y, x, weight, x.stride(0), y.stride(0), m, n, 1e-6, block, n > block, programs,
            num_warps=warps,
        )  # fmt: skip
        return y

    return run, lambda: tm.rms_norm(x, weight, 1e-6)


@repository.case(FOLDER + "rmsnorm.py", "rms_kernel", small=dict(m=20, n=1000), production=dict(m=8192, n=8192), rtol=1e-3, atol=1e-3)  # fmt: skip
def rms_norm(file, device, m, n):
    x, weight = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, n), (n,)))
    return _rms_norm(file, x, weight, 65536 // 2, 8)


@repository.case(FOLDER + "rmsnorm.py", "rms_kernel", small=dict(m=5, n=20000), production=dict(m=2048, n=65536), rtol=1e-5, atol=1e-4)  # fmt: skip
def rms_norm_of_long_rows(file, device, m, n):
    x, weight = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return _rms_norm(file, x, weight, 65536 // 4, 16)


@repository.case(FOLDER + "layernorm.py", "layernorm_kernel", small=dict(m=5, n=20000), production=dict(m=2048, n=32000), rtol=1e-4, atol=1e-4)  # fmt: skip
def layer_norm(file, device, m, n):
    x, weight, bias = (tm.normal(*shape, device=device) for shape in ((m, n), (n,), (n,)))
    block = min(65536 // 4, 1 << (n - 1).bit_length())

    def run():
        y = torch.empty_like(x)
        file.layernorm_kernel.fn[(m,)](
            x, y, weight, bias, x.stride(0), y.stride(0), m, n, 1e-5, block, num_warps=8
        )
        return y

    return run, lambda: tm.layer_norm(x, weight, bias, 1e-5)


def _few_rows(m, n, k, device):
    """Operands and a bias of the rows."""
    a = tm.normal(m, k, device=device, dtype=torch.float16)
    b = tm.normal(n, k, device=device, dtype=torch.float16).T
    return a, b, tm.normal(m, device=device, dtype=torch.float16)


def _launch(file, a, b, bias, dot, **options):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)
    rows = 16 if dot else 1
    grid = (-(-m // rows) * -(-n // options["BLOCK_SIZE_N"]),)
    file.triton_matmul_kernel[grid](
        a, b, c, bias, m, n, k, *a.stride(), *b.stride(), *c.stride(), bias.stride(0),
        BLOCK_SIZE_M=rows, USE_BIAS=True, USE_DOT=dot,
        EVEN_K=k % options["BLOCK_SIZE_K"] == 0, num_stages=2, **options,
    )  # fmt: skip
    return c


@repository.case(FOLDER + "multreduce_matmul_kernel.py", "triton_matmul_kernel", small=dict(m=1, n=64, k=600), production=dict(m=1, n=8192, k=28672), rtol=1e-2, atol=5e-1)  # fmt: skip
def row_times_matrix(file, device, m, n, k):
    a, b, bias = _few_rows(m, n, k, device)
    return (
        lambda: _launch(file, a, b, bias, False, BLOCK_SIZE_N=64, BLOCK_SIZE_K=128, num_warps=8),
        lambda: a.double() @ b.double() + bias.double()[:, None],
    )


@repository.case(FOLDER + "multreduce_matmul_kernel.py", "triton_matmul_kernel", small=dict(m=16, n=64, k=600), production=dict(m=16, n=8192, k=28672), rtol=1e-2, atol=5e-1)  # fmt: skip
def rows_times_matrix(file, device, m, n, k):
    a, b, bias = _few_rows(m, n, k, device)
    return (
        lambda: _launch(file, a, b, bias, True, BLOCK_SIZE_N=32, BLOCK_SIZE_K=256, num_warps=2),
        lambda: a.double() @ b.double() + bias.double()[:, None],
    )
