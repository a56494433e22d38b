"""Loads and stores."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language.core import tensor, tensor_method, unwrap


@tensor_method
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> Any:
    """Read what ``pointer`` (a scalar, a block of pointers, or a block pointer) points to.

    Where ``mask`` is false nothing is read and the result is ``other``; without ``other`` it is
    undefined (0 on the CPU). ``boundary_check`` (dimensions) and ``padding_option`` ("", "zero",
    "nan") are for block pointers. ``cache_modifier``: "", ".ca", ".cg", ".cs", ".cv";
    ``eviction_policy``: "", "evict_first", "evict_last".
    """
    if not isinstance(pointer, tensor):
        read = getattr(unwrap(pointer), "_load", None)
        if read is not None:
            return read(
                mask,
                other,
                boundary_check,
                padding_option,
                cache_modifier,
                eviction_policy,
                volatile,
            )
    elif boundary_check or padding_option:
        _refuse_block_options("tl.load", boundary_check, padding_option)
    return _semantic.load(pointer, mask, other, cache_modifier, eviction_policy, volatile, False)


@tensor_method
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> None:
    """Write ``value`` to what ``pointer`` points to, where ``mask`` is true.

    ``cache_modifier``: "", ".wb", ".cg", ".cs", ".wt".
    """
    if not isinstance(pointer, tensor):
        write = getattr(unwrap(pointer), "_store", None)
        if write is not None:
            write(value, mask, boundary_check, cache_modifier, eviction_policy)
            return
    elif boundary_check:
        _refuse_block_options("tl.store", boundary_check, "")
    _semantic.store(pointer, value, mask, cache_modifier, eviction_policy, False)


def _refuse_block_options(op: str, boundary_check: Any, padding_option: Any) -> None:
    if len(unwrap(boundary_check)) or unwrap(padding_option):
        raise ValueError(
            f"{op}: boundary_check and padding_option are for block pointers (tl.make_block_ptr); "
            "a block of pointers takes mask and other"
        )


__all__ = ["load", "store"]
