"""``triton._C.libtriton.ir``: Triton's IR; each use is an error."""

from blockscope.compat.missing import module_getattr

__getattr__ = module_getattr(
    "triton._C.libtriton.ir",
    "Triton's IR is not in Blockscope; 'blockscope ir FILE' prints the block IR of kernels",
)
