"""``triton._C.libtriton.gluon_ir``: the builder of Gluon; each use is an error."""

from blockscope.compat.missing import module_getattr

__getattr__ = module_getattr(
    "triton._C.libtriton.gluon_ir",
    "the builder of Gluon is not in Blockscope; Gluon kernels cannot run here",
)
