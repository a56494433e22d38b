"""``triton._C.libtriton.nvidia``: the cuBLAS handle that tutorials compare with, on torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from blockscope.compat.missing import module_getattr
from blockscope.errors import NotYetSupported


class CublasLt:
    """Products of matrices by torch, which calls cuBLAS on a GPU. The workspace is not needed."""

    def __init__(self, workspace: Any = None) -> None:
        del workspace

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        """``c = a @ b.T``. Shapes: (M, K), (N, K), (M, N)."""
        self.gemm(a, b, c, c, 1.0, 0.0)

    def gemm(self, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float) -> None:
        """``d = alpha * a @ b.T + beta * c``."""
        import torch

        product = torch.matmul(_plain(a), _plain(b).T) * alpha
        if beta:
            product = product + beta * c.to(product.dtype)
        d.copy_(product)

    def block_scaled_matmul_mxfp8(self, *_: Any) -> None:
        raise NotYetSupported("block_scaled_matmul_mxfp8 is not supported; torch._scaled_mm is")

    def block_scaled_matmul_nvfp4(self, *_: Any) -> None:
        raise NotYetSupported("block_scaled_matmul_nvfp4 is not supported; torch._scaled_mm is")


def _plain(matrix: Any) -> Any:
    """fp8 as fp16, which holds it exactly: torch multiplies no plain fp8."""
    return matrix.half() if matrix.element_size() == 1 else matrix


cublas = SimpleNamespace(CublasLt=CublasLt)

__getattr__ = module_getattr(
    "triton._C.libtriton.nvidia",
    "the NVIDIA part of Triton's compiler is not in Blockscope; 'blockscope compile FILE' compiles",
)
