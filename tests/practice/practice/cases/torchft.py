"""TorchFT: matrices in one buffer of 8-bit rows, their mean over several buffers, and back."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "meta-pytorch/torchft",
    "7eb7087885f7ffaf51148a9df3289d73b8709fbd",
    packages={"torchft": "."},
)
FILE = "torchft/quantization.py"
SIZES = dict(small=dict(rows=(10, 7), columns=(130, 64), ranks=2), production=dict(rows=(4096, 8192, 4096), columns=(8192, 4096, 2048), ranks=4))  # fmt: skip


def _rounded(x, dtype=torch.float32):
    """Each row's nearest values of float8 with a scale that makes the largest one 448."""
    scale = 448 / x.float().abs().amax(-1, keepdim=True)
    return (x.float() * scale).to(tm.FP8).to(torch.float32).double() / scale.double()


@repository.case(FILE, "_fused_kernel_quantize_into_fp8, _fused_kernel_dequantize_from_fp8", rtol=1e-5, atol=1e-5, share=1e-4, **SIZES)  # fmt: skip
def there_and_back(file, device, rows, columns, ranks):
    inputs = [tm.normal(m, n, device=device) for m, n in zip(rows, columns, strict=True)]

    def run():
        buffer = file.fused_quantize_into_fp8(list(inputs), ranks)
        out = [torch.empty_like(x) for x in inputs]
        file.fused_dequantize_from_fp8(out, buffer, ranks)
        return out

    return run, lambda: [_rounded(x) for x in inputs]


# What a mean is rounded to can be the next value of float8.
@repository.case(FILE, "_fused_kernel_reduce_fp8", rtol=1e-3, atol=1e-3, share=1e-3, **SIZES)
def mean(file, device, rows, columns, ranks):
    """One rank's share: the first rows of each matrix, from every rank's buffer."""
    given = [
        [tm.normal(m, n, device=device) for m, n in zip(rows, columns, strict=True)]
        for _ in range(ranks)
    ]

    def run():
        parts = [file.fused_quantize_into_fp8(list(x), ranks).view(ranks, -1)[0] for x in given]
        buffer = torch.cat(parts)
        file.fused_reduce_fp8(list(given[0]), buffer, ranks, 0, torch.distributed.ReduceOp.AVG)
        out = [torch.empty_like(x) for x in given[0]]
        file.fused_dequantize_from_fp8(out, buffer, ranks)
        return [x[: -(-m // ranks)] for x, m in zip(out, rows, strict=True)]

    def want():
        out = []
        for i, m in enumerate(rows):
            mean = sum(_rounded(x[i][: -(-m // ranks)]) for x in given) / ranks
            out.append(_rounded(mean))
        return out

    return run, want
