"""What the rewritten kernel of step mode calls (see rewrite.py)."""

import itertools
import os
import pdb
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from blockscope import language as tl
from blockscope import settings
from blockscope.errors import CompilationError
from blockscope.frontend import values
from blockscope.frontend.calls import BUILTIN_CALLS
from blockscope.language import context, core

min_ = BUILTIN_CALLS[min]
max_ = BUILTIN_CALLS[max]
float_ = BUILTIN_CALLS[float]
int_ = BUILTIN_CALLS[int]
bool_ = BUILTIN_CALLS[bool]
abs_ = BUILTIN_CALLS[abs]


def isinstance_(value: Any, kinds: Any) -> bool:
    return bool(BUILTIN_CALLS[isinstance](value, kinds))


def decay(value: Any) -> Any:
    """A Python number bound to a name is a tensor, as in a compiled kernel."""
    kind = type(value)
    if kind is core.tensor:
        return value
    if kind is int or kind is float or kind is bool:
        return core.to_tensor(value)
    if isinstance(value, core.constexpr):
        plain = value.value
        return core.to_tensor(plain) if isinstance(plain, bool | int | float) else value
    if kind is tuple:
        return core.tuple([decay(item) for item in value])
    return values.decay(value) if isinstance(value, core.tuple) else value


def constexpr(value: Any) -> Any:
    keeps = isinstance(value, core.constexpr) or values.is_tensor(value)
    return value if keeps else core.constexpr(value)


def _kernel() -> context.Kernel:
    kernel = context.current()
    assert kernel is not None  # a stepped function is only called by step.py
    return kernel


def noted(indices: Iterable[int]) -> Iterator[int]:
    """The same numbers; findings meanwhile name the iteration of the loop."""
    runner = _kernel().runner
    depth = runner.loop_depth()
    try:
        for iteration, index in enumerate(indices):
            runner.set_loops(depth, iteration)
            yield index
    finally:
        runner.set_loops(depth, -1)


def iterations() -> Iterator[int]:
    """The iterations of a 'while'."""
    return noted(itertools.count())


class Counted:
    """`range(...)` of a kernel: counts with scalar tensors of one integer type."""

    def __init__(self, *bounds: Any) -> None:
        parts = [values.unwrap(b) for b in bounds]
        self.wide = tl.int32
        for part in parts:
            dtype = part.dtype if values.is_tensor(part) else core.to_tensor(part).dtype
            if dtype.primitive_bitwidth == 64 or dtype == tl.uint32:
                self.wide = tl.int64
        self.indices = range(*(int(part) for part in parts))

    def __iter__(self) -> Iterator[Any]:
        wide = self.wide
        for index in noted(self.indices):
            yield tl.full((), index, wide)


def counted(*bounds: Any) -> Counted:
    return Counted(*bounds)


def iterate(items: Any) -> Any:
    """What a 'for' of a kernel runs over."""
    if isinstance(items, tl.static_range):
        bounds = (int(values.unwrap(b)) for b in (items.start, items.end, items.step))
        return (core.constexpr(i) for i in range(*bounds))
    if isinstance(items, tl.range):
        return Counted(items.start, items.end, items.step)
    if isinstance(items, range):
        return Counted(items.start, items.stop, items.step)
    return items


def logical_and(lhs: Any, rhs: Callable[[], Any]) -> Any:
    if not values.is_tensor(lhs):
        return rhs() if lhs else lhs
    if lhs.numel == 1 and not bool(lhs):
        return lhs.to(tl.int1)
    return values.logical_and(lhs, rhs())


def logical_or(lhs: Any, rhs: Callable[[], Any]) -> Any:
    if not values.is_tensor(lhs):
        return lhs if lhs else rhs()
    if lhs.numel == 1 and bool(lhs):
        return lhs.to(tl.int1)
    return values.logical_or(lhs, rhs())


def logical_not(value: Any) -> Any:
    return values.logical_not(value) if values.is_tensor(value) else not value


def dropped(fn: Any, name: str) -> Any:
    """The function that is called, unless its result must be used."""
    if message := values.must_use(fn, name):
        raise CompilationError(message)
    return fn


def device_assert(condition: Any, message: Any) -> None:
    tl.device_assert(condition, values.unwrap(message))


def stops_here() -> bool:
    """Whether breakpoints apply in the program that runs now (BLOCKSCOPE_PROGRAM=x,y,z)."""
    wanted = settings.read("BLOCKSCOPE_PROGRAM")
    if not wanted:
        return True
    program = tuple(int(part) for part in str(wanted).split(","))
    return _kernel().program == (*program, 0, 0, 0)[:3]


class _KernelDebugger(pdb.Pdb):
    """Steps from the kernel into its nested functions, past this package and Python's modules."""

    def is_skipped_module(self, module_name: str | None) -> bool:
        top = (module_name or "").partition(".")[0]
        return top == "blockscope" or (top in sys.stdlib_module_names and top != "__main__")


def stop() -> None:
    """Stop in the kernel, as breakpoint() and pdb.set_trace() do, without showing our frames."""
    hook = sys.breakpointhook
    is_plain = hook is sys.__breakpointhook__ and "PYTHONBREAKPOINT" not in os.environ
    if not is_plain or pdb.set_trace.__module__ != "pdb":
        hook()
        return
    _KernelDebugger(skip=["blockscope.*"], nosigint=True).set_trace(sys._getframe(1))
