"""Tensor descriptors made on the host, under Triton's module path."""

from blockscope.runtime.tensor_descriptor import ALIGNMENT_BYTES, TensorDescriptor

__all__ = ["ALIGNMENT_BYTES", "TensorDescriptor"]
