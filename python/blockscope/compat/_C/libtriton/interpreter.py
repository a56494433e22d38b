"""``triton._C.libtriton.interpreter``: Triton's interpreter of tensors; each use is an error."""

from blockscope.compat.missing import module_getattr

__getattr__ = module_getattr(
    "triton._C.libtriton.interpreter",
    "Triton's interpreter is not in Blockscope; TRITON_INTERPRET=1 runs kernels step by step",
)
