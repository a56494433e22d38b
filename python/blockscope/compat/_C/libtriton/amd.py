"""``triton._C.libtriton.amd``: the AMD part of Triton's compiler; each use is an error."""

from blockscope.compat.missing import module_getattr

__getattr__ = module_getattr(
    "triton._C.libtriton.amd",
    "the AMD part of Triton's compiler is not in Blockscope; there is no back end for AMD GPUs",
)
