"""Functions of CPU targets."""

from typing import Any

from blockscope.language.core import builtin, tensor
from blockscope.language.extra import libdevice
from blockscope.language.shape import permute, reshape


def _interleave_rows(x: Any) -> Any:
    """Rows of pairs as pairs of rows: [r, 2 c + i] of x is [2 r + i, c] of the result."""
    rows, columns = x.shape
    pairs = permute(reshape(x, (rows, columns // 2, 2)), (0, 2, 1))
    return reshape(pairs, (2 * rows, columns // 2))


@builtin
def vnni_decode(arg0: Any) -> Any:
    """Undo the packing that VNNI and AMX want of the right operand of a dot.

    A row holds pairs of 16-bit values of two rows, and of 8-bit values pairs of pairs:
    [rows, columns] becomes [2 rows, columns / 2], and of 8-bit values [4 rows, columns / 4].
    """
    if not isinstance(arg0, tensor) or len(arg0.shape) != 2:
        raise ValueError("tl.extra.cpu.vnni_decode: arg0 is no block of two dimensions")
    bits = arg0.dtype.primitive_bitwidth
    if bits > 16:
        raise ValueError("Expected 8-bit or 16-bit values for vnni_decode")
    decoded = _interleave_rows(arg0)
    return _interleave_rows(decoded) if bits == 8 else decoded


__all__ = ["libdevice", "vnni_decode"]
