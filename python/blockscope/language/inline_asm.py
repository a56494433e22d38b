"""Inline assembly in kernels: PTX on a GPU, interpreted PTX on the CPU."""

from typing import Any

from blockscope._core import semantic as rule_book
from blockscope.language import core
from blockscope.language.core import builtin, unwrap

_OP = "tl.inline_asm_elementwise"


def _text(value: Any, name: str) -> str:
    value = unwrap(value)
    if not isinstance(value, str):
        raise TypeError(f"{_OP}: {name} is {value!r}, expected a string")
    return value


@builtin
def inline_asm_elementwise(
    asm: Any,
    constraints: Any,
    args: Any,
    dtype: Any,
    is_pure: Any,
    pack: Any,
    _semantic: Any = None,
    _builder: Any = None,
) -> Any:
    """Run the assembly ``asm`` on each ``pack`` elements of ``args``, which are brought to one
    shape; without arguments there is one run, and the results are scalars.

    ``constraints`` has one entry for each register, as LLVM writes them: results ("=r"), then
    arguments ("r"). Elements of less than 32 bits share registers, the first one in the low bits.
    ``dtype`` is the element type of the result, or a tuple of them for a tuple of results. Assembly
    that does more than compute needs ``is_pure=False``; then it stays, and keeps its order.

    On the CPU a part of PTX is interpreted, which docs/language.md lists. ``_semantic`` and
    ``_builder`` are what functions written for Triton hand on.
    """
    dtype = unwrap(dtype)
    is_tuple = isinstance(dtype, list | tuple | core.tuple)
    types = [unwrap(one) for one in dtype] if is_tuple else [dtype]
    args = unwrap(args)
    if not isinstance(args, list | tuple | core.tuple):
        raise TypeError(f"{_OP}: args is {args!r}, expected a list")
    pack = unwrap(pack)
    if not isinstance(pack, int):
        raise TypeError(f"{_OP}: pack is {pack!r}, expected an integer")
    results = rule_book.inline_asm(
        _text(asm, "asm"),
        _text(constraints, "constraints"),
        [core.to_tensor(arg) for arg in args],
        types,
        bool(unwrap(is_pure)),
        pack,
    )
    return core.tuple(results) if is_tuple else results[0]


__all__ = ["inline_asm_elementwise"]
