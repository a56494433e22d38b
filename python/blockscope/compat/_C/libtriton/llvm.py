"""``triton._C.libtriton.llvm``: Triton's LLVM; each use is an error."""

from blockscope.compat.missing import module_getattr

__getattr__ = module_getattr(
    "triton._C.libtriton.llvm",
    "Triton's LLVM is not in Blockscope; kernel.asm['llir'] has the LLVM IR of a GPU kernel",
)
