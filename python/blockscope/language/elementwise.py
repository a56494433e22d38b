"""Elementwise arithmetic, choice and comparison beyond the operators."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import context, core
from blockscope.language.core import (
    PropagateNan,
    builtin,
    constexpr,
    int1,
    tensor,
    tensor_method,
    unwrap,
)


def _propagates(propagate_nan: Any) -> bool:
    return unwrap(propagate_nan) is PropagateNan.ALL


@builtin
def add(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """``x + y``; with ``sanitize_overflow=False`` integers may overflow where the kernel's are
    checked (``debug=True``)."""
    return _semantic.add(x, y, bool(unwrap(sanitize_overflow)))


@builtin
def sub(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """``x - y``; with ``sanitize_overflow=False`` integers may overflow where the kernel's are
    checked (``debug=True``)."""
    return _semantic.sub(x, y, bool(unwrap(sanitize_overflow)))


@builtin
def mul(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """``x * y``; with ``sanitize_overflow=False`` integers may overflow where the kernel's are
    checked (``debug=True``)."""
    return _semantic.mul(x, y, bool(unwrap(sanitize_overflow)))


@builtin
def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
    """The smaller of each pair. A NaN gives the other operand, or NaN with PropagateNan.ALL.

    bfloat16 is computed, and returned, in float32.
    """
    return _semantic.minimum(x, y, _propagates(propagate_nan))


@builtin
def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
    """The larger of each pair. A NaN gives the other operand, or NaN with PropagateNan.ALL.

    bfloat16 is computed, and returned, in float32.
    """
    return _semantic.maximum(x, y, _propagates(propagate_nan))


@builtin
def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
    """Limit every element of ``x`` to ``[min, max]``; bfloat16 gives float32."""
    return _semantic.clamp(x, min, max, _propagates(propagate_nan))


@builtin
def where(condition: Any, x: Any, y: Any) -> Any:
    """Elements of ``x`` where ``condition`` is true, of ``y`` elsewhere. Both are evaluated."""
    if isinstance(condition, tensor) and condition.dtype != int1:
        context.warn(
            "tl.where with a non-boolean condition is deprecated and will error out in a future "
            f"triton release. Got {condition.dtype}"
        )
    return _semantic.where(condition, x, y)


@tensor_method
def cdiv(x: Any, div: Any) -> Any:
    """``x / div`` rounded up, for integers."""
    x, div = unwrap(x), unwrap(div)
    if isinstance(x, int) and isinstance(div, int):
        return constexpr((x + (div - 1)) // div)
    return (x + (div - 1)) // div


@tensor_method
def logical_and(x: Any, y: Any) -> Any:
    """Whether both are not 0."""
    return _semantic.logical_and(x, y)


@tensor_method
def logical_or(x: Any, y: Any) -> Any:
    """Whether one of them is not 0."""
    return _semantic.logical_or(x, y)


@builtin
def _logical_not(x: Any) -> Any:
    return _semantic.logical_not(x)


tensor.logical_not = _logical_not
tensor.__not__ = _logical_not


@builtin
def expect_zero(x: Any, mask: Any) -> Any:
    """``x``, which is promised to be 0 where ``mask`` is true: an assert. In the algebra it is made
    0 there."""
    mask = _semantic.to_tensor(mask)
    if _semantic.has_payloads():
        return where(mask.to(int1), 0, x)
    message = "expect_zero expected x == 0 where mask is true"
    _semantic.device_assert((x == 0) | ~mask.to(int1), message, None)
    return x


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1) -> Any:
    """Call the @jit function ``scalar_fn`` for each element of ``args``, with scalars.

    ``args`` are broadcast to one shape. Each element takes an ``if`` or a loop of the function
    alone. With ``pack`` the function takes ``pack`` elements that follow each other (row-major) of
    the first argument, then of the second one, and returns ``pack`` elements of each result. It may
    not access memory. Returns a block, or a tuple where the function returns one.
    """
    fn = unwrap(scalar_fn)
    if not callable(fn):
        raise TypeError(
            f"tl.map_elementwise: scalar_fn is {type(fn).__name__}, expected a @jit function"
        )
    if not args:
        raise ValueError("tl.map_elementwise: there is nothing to map, expected a block")
    blocks = [core.to_tensor(arg) for arg in args]
    whole = blocks[0]
    for block in blocks[1:]:
        whole = _semantic.broadcast(whole, block)[0]
    if not whole.type.is_block():
        if unwrap(pack) != 1:
            raise ValueError(
                f"tl.map_elementwise: pack is {unwrap(pack)}, expected 1 for arguments without a "
                "block among them"
            )
        return fn(*blocks)
    blocks = [_semantic.broadcast(block, whole)[0] for block in blocks]
    results, is_single = _semantic.map(blocks, unwrap(pack), fn)
    return results[0] if is_single else core.tuple(results)


__all__ = [
    "add",
    "cdiv",
    "clamp",
    "expect_zero",
    "map_elementwise",
    "maximum",
    "minimum",
    "mul",
    "sub",
    "where",
]
