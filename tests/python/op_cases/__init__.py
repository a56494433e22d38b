"""Every operation of the language as a row: what it is called with, and what NumPy gives for it.

One file for each family, named as in blockscope/language.
"""

from op_cases import (
    casts,
    elementwise,
    hints,
    linear,
    math,
    operators,
    random,
    reduce,
    scan,
    shape,
    sort,
)
from op_cases.case import NUMBERS, Block, OpCase, dtype_of, numpy_dtype

#: Operations that the GPU compiler does not lower yet: rows with one of them must fail there, and
#: name it. Whoever adds a lowering takes the name out.
NOT_YET: list[str] = []

_FAMILIES = (
    operators, elementwise, math, casts, shape, reduce, scan, sort, linear, random, hints
)  # fmt: skip
CASES: list[OpCase] = [case for family in _FAMILIES for case in family.CASES]

__all__ = ["CASES", "NOT_YET", "NUMBERS", "Block", "OpCase", "dtype_of", "numpy_dtype"]
