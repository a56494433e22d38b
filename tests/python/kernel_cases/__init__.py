"""Kernels as people write them for language models and numerics, each with what torch computes:
held to torch on the CPU and on a GPU, and run from their PTX by ptx_matrix_machine.py.
"""

from . import attention, products, rows, squares
from .case import CASES, Case

__all__ = ["CASES", "Case", "attention", "products", "rows", "squares"]
