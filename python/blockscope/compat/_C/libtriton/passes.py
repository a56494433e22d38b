"""``triton._C.libtriton.passes``: Triton's passes; each use is an error."""

from blockscope.compat.missing import module_getattr

__getattr__ = module_getattr(
    "triton._C.libtriton.passes",
    "Triton's passes is not in Blockscope; BLOCKSCOPE_GPU_PIPELINE runs other passes",
)
