"""``triton._filecheck``: it can be imported, but there is no Triton IR to check."""

from blockscope.compat.missing import module_getattr

__getattr__ = module_getattr("triton._filecheck", "it reads the texts of Triton's compiler")
