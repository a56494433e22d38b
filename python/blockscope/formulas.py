"""Do two ways of computing compute the same formula? (docs/algebra.md)

In the algebra, floats are integers modulo a power of two: sums and products have no rounding and no
order, so that what is the same formula gives the same bits, and what is not, other ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from blockscope import knobs
from blockscope.runtime import hooks
from blockscope.signatures import signature_of


@contextmanager
def algebra() -> Iterator[None]:
    """Inside, kernels compute in the algebra: ``instrumentation_mode="fpsan"`` for all launches."""
    with knobs.compilation.scope():
        knobs.compilation.instrumentation_mode = "fpsan"
        yield


@dataclass
class Bits:
    """What a tensor holds, bit by bit: its type, its shape, and a row of bytes for each element."""

    dtype: str
    shape: tuple[int, ...]
    rows: Any  # uint8 [elements, bytes of an element]

    @staticmethod
    def of(value: Any) -> Bits | None:
        """Those of a torch tensor or a NumPy array; None for anything else."""
        import numpy as np

        if isinstance(value, np.ndarray):
            array = np.ascontiguousarray(value)
            rows = array.reshape(-1).view(np.uint8).reshape(array.size, array.itemsize)
            return Bits(str(array.dtype), array.shape, rows.copy())
        if type(value).__module__.partition(".")[0] != "torch" or not hasattr(value, "data_ptr"):
            return None
        import torch

        with torch.no_grad():
            flat = value.detach().cpu().contiguous().reshape(-1)
            rows = flat.view(torch.uint8).numpy().reshape(flat.numel(), flat.element_size())
        name = str(value.dtype).removeprefix("torch.")
        return Bits(name, tuple(value.shape), rows.copy())

    def equals(self, other: Bits) -> bool:
        import numpy as np

        is_alike = self.shape == other.shape and self.dtype == other.dtype
        return is_alike and bool(np.array_equal(self.rows, other.rows))


@dataclass
class Difference:
    """How one result differs; ``text`` says it in words."""

    name: str
    text: str


@dataclass
class Comparison:
    """What ``same`` found; true when there is no difference.

    ``names`` are the results that were compared.
    """

    names: list[str]
    differences: list[Difference] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        differing = {difference.name: difference.text for difference in self.differences}
        lines = [f"{name}: {differing.get(name, 'the same')}" for name in self.names]
        if any("another formula" in text for text in differing.values()):
            lines.append(
                "(no mistake if the kernels mask by -inf, cast in between, divide, scale or take "
                "roots in other ways, compare floats or use torch's own arithmetic: "
                "docs/algebra.md)"
            )
        return "\n".join(lines)


def compared(
    one: dict[str, Bits], other: dict[str, Bits], sides: tuple[str, str] = ("one", "the other")
) -> Comparison:
    """Compare what has the same name on both sides, which texts call by ``sides``."""
    result = Comparison([name for name in one if name in other])
    for name in result.names:
        if text := _difference(one[name], other[name], *sides):
            result.differences.append(Difference(name, text))
    return result


def _difference(one: Bits, other: Bits, first: str, second: str) -> str:
    import numpy as np

    if one.shape != other.shape:
        return f"shape {list(one.shape)} in {first}, {list(other.shape)} in {second}"
    if one.dtype != other.dtype:
        return f"{one.dtype} in {first}, {other.dtype} in {second}"
    wrong = np.flatnonzero((one.rows != other.rows).any(axis=1))
    if not len(wrong):
        return ""
    shape = one.shape or (1,)
    places = np.stack(np.unravel_index(wrong, shape), axis=1)
    box = [(int(axis.min()), int(axis.max()) + 1) for axis in places.T]
    around = ""  # such as a tile of the result
    if box != [(0, size) for size in shape]:
        around = f", all in [{', '.join(f'{low}:{high}' for low, high in box)}]"
    bits = [side.rows[wrong[0]][::-1].tobytes().hex() for side in (one, other)]
    return (
        f"another formula in {len(wrong)} of {len(one.rows)} elements{around}, first "
        f"{places[0].tolist()}: bits 0x{bits[0]} in {first}, 0x{bits[1]} in {second}"
    )


def same(
    one: Callable[..., Any], other: Callable[..., Any], *args: Any, **kwargs: Any
) -> Comparison:
    """Call both functions in the algebra, each with copies of the arguments, and compare all bits
    of what they return and of the arguments that they write to.

    The functions launch kernels; what torch itself computes in between is not in the algebra, so
    leave sums and products of floats to kernels. ``out = same(fused, plain, x, y)``; ``assert out,
    out`` says what differs.

    Errors: ValueError where one launches no kernel, and where there is no tensor to compare; what
    the functions raise.
    """
    names = _names(one, len(args))
    before = _all_bits({**dict(zip(names, args, strict=True)), **kwargs})
    sides = []
    for which, function in (("first", one), ("second", other)):
        copies = [_copy(value) for value in args]
        named = {name: _copy(value) for name, value in kwargs.items()}
        with algebra(), counted_launches() as count:
            result = function(*copies, **named)
        if not count():
            raise ValueError(
                f"the {which} function launched no kernel: what torch or NumPy compute is not in "
                "the algebra, so it cannot be compared"
            )
        after = _all_bits({**dict(zip(names, copies, strict=True)), **named})
        sides.append((after, _all_bits({"result": result})))
    if sorted(sides[0][1]) != sorted(sides[1][1]):
        raise ValueError(
            f"one returns {_listed(sides[0][1])}, the other {_listed(sides[1][1])}: expected as "
            "many tensors of both"
        )
    written = [
        name for name in before
        if any(name in side and not side[name].equals(before[name]) for side, _ in sides)
    ]  # fmt: skip
    both = [{name: side[name] for name in written} | results for side, results in sides]
    if not both[0]:
        raise ValueError("no tensor was returned or written to: there is nothing to compare")
    return compared(both[0], both[1])


@contextmanager
def counted_launches() -> Iterator[Callable[[], int]]:
    """Gives a function that says how many kernels were launched inside."""
    launches, outer = 0, hooks.interceptor()

    # Not a hook of `knobs.runtime`: step mode calls none.
    def counting(
        run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
    ) -> Any:
        nonlocal launches
        launches += not warmup
        if outer is not None:
            return outer(run, fn, args, grid, kwargs, warmup)
        return run(fn, grid, args, kwargs, warmup=warmup)

    with hooks.intercepted(counting):
        yield lambda: launches


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """What the arguments are called: as the function's parameters, where they are known."""
    try:
        parameters = list(signature_of(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [p.name for p in parameters if p.kind in plain]
    return [known[i] if i < len(known) else f"argument {i}" for i in range(count)]


def _listed(results: dict[str, Bits]) -> str:
    return f"{len(results)} tensors" if len(results) != 1 else "1 tensor"


def _copy(value: Any) -> Any:
    if Bits.of(value) is None:
        return value
    return value.copy() if hasattr(value, "copy") else value.detach().clone()


def _all_bits(values: dict[str, Any]) -> dict[str, Bits]:
    """Those of all tensors, also in tuples, lists and dictionaries, by name."""
    found: dict[str, Bits] = {}
    for name, value in values.items():
        if (bits := Bits.of(value)) is not None:
            found[name] = bits
        elif isinstance(value, tuple | list):
            found |= _all_bits({f"{name}[{i}]": item for i, item in enumerate(value)})
        elif isinstance(value, dict):
            found |= _all_bits({f"{name}[{key!r}]": item for key, item in value.items()})
    return found
