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

        if d.element_size() == 1 and a.is_cuda and not beta and alpha == 1.0:
            d.copy_(_by_cublas(a, b, d.dtype))
            return
        product = torch.matmul(_plain(a, d), _plain(b, d).T) * alpha
        if beta:
            product = product + beta * c.to(product.dtype)
        d.copy_(product)

    def block_scaled_matmul_mxfp8(self, *_: Any) -> None:
        raise NotYetSupported("block_scaled_matmul_mxfp8 is not supported; torch._scaled_mm is")

    def block_scaled_matmul_nvfp4(self, *_: Any) -> None:
        raise NotYetSupported("block_scaled_matmul_nvfp4 is not supported; torch._scaled_mm is")


def _by_cublas(a: Any, b: Any, dtype: Any) -> Any:
    """A product of fp8 with sums as the tensor cores alone make them, as Triton's handle asks."""
    import torch

    one = torch.ones((), device=a.device)
    return torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=dtype, use_fast_accum=True)


def _plain(matrix: Any, result: Any) -> Any:
    """What torch multiplies: of fp8, which it does not, a type that holds it exactly, and whose
    products are rounded once."""
    if matrix.element_size() != 1:
        return matrix
    return matrix.float() if result.element_size() == 1 else matrix.half()


cublas = SimpleNamespace(CublasLt=CublasLt)

__getattr__ = module_getattr(
    "triton._C.libtriton.nvidia",
    "the NVIDIA part of Triton's compiler is not in Blockscope; 'blockscope compile FILE' compiles",
)
