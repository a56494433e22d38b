"""Instructions of inline assembly as rows: the text, its operands, and what NumPy gives for it.

`test_inline_asm.py` runs each row in both CPU modes and has ptxas assemble it; `tests/gpu` runs it
on a GPU. One file for each kind of instruction, as in `interpreter/ptx`.
"""

from inline_asm_cases.bits import bit_rows
from inline_asm_cases.case import COUNT, DTYPES, AsmCase, arguments, same
from inline_asm_cases.comparisons import compare_rows
from inline_asm_cases.conversions import convert_rows
from inline_asm_cases.floats import float_rows
from inline_asm_cases.integers import integer_rows
from inline_asm_cases.moves import move_rows
from inline_asm_cases.narrow import narrow_rows

__all__ = ["CASES", "COUNT", "DTYPES", "AsmCase", "arguments", "same"]

CASES: list[AsmCase] = [
    *integer_rows(),
    *bit_rows(),
    *float_rows(),
    *compare_rows(),
    *convert_rows(),
    *narrow_rows(),
    *move_rows(),
]
