"""What the rewritten kernel of step mode calls (see rewrite.py)."""

import itertools
import os
import pdb
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from blockscope import language as tl
from blockscope import settings
from blockscope.errors import CompilationError
from blockscope.frontend import tracebacks, values
from blockscope.frontend.calls import BUILTIN_CALLS
from blockscope.language import context, core, iterators

min_ = BUILTIN_CALLS[min]
max_ = BUILTIN_CALLS[max]
float_ = BUILTIN_CALLS[float]
int_ = BUILTIN_CALLS[int]
bool_ = BUILTIN_CALLS[bool]
abs_ = BUILTIN_CALLS[abs]
getattr_ = BUILTIN_CALLS[getattr]


def hasattr_(value: Any, name: Any) -> bool:
    return bool(BUILTIN_CALLS[hasattr](value, name))


def isinstance_(value: Any, kinds: Any) -> bool:
    return bool(BUILTIN_CALLS[isinstance](value, _classes(kinds)))


def _classes(kinds: Any) -> Any:
    """The builtin classes, where a kernel without a source names what stands for them."""
    plain = values.unwrap(kinds)
    if type(plain) is tuple:
        return tuple(_classes(kind) for kind in plain)
    return {int_: int, float_: float, bool_: bool}.get(plain, kinds) if callable(plain) else kinds


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
    if isinstance(value, core.tuple):
        return values.decay(value)
    if kind is tuple or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return core.tuple._from_named(value)._map(decay)
    return value


def decay_but(value: Any, *constants: bool) -> Any:
    """The items of a tuple as they are bound to names, of which some stay constants."""
    items = list(value)
    if len(items) != len(constants):
        return value  # unpacking it is the error
    pairs = zip(items, constants, strict=True)
    return tuple(constexpr(item) if is_constant else decay(item) for item, is_constant in pairs)


def constexpr(value: Any) -> Any:
    keeps = isinstance(value, core.constexpr) or values.is_tensor(value)
    return value if keeps else core.constexpr(value)


def _kernel() -> context.Kernel:
    kernel = context.current()
    assert kernel is not None  # a stepped function is only called by step.py
    return kernel


# Iterations, as in interpreter/flat/machine.cpp.
_FIRST_LOOK, _LOOK_EVERY, _PART_BEHIND_POWER = 1024, 64, 16


def iterations(
    names: tuple[str, ...] | None,
    lines: tuple[int, ...] | None,
    count: tuple[str, str | int] | None,
) -> Iterator[int]:
    """The iterations of a 'while', with what decides whether it goes on (loop_slice.py).

    Now and then it is asked whether they, and memory, are what they were some iterations before:
    then the loop never ends, unless another program changes memory. Nor does one that counts past
    its goal for ever.
    """
    runner = _kernel().runner
    before = None
    for iteration in iterators.noted(itertools.count()):
        look = _look_at(iteration) if names is not None else None
        if look is not None:
            variables = sys._getframe(1).f_locals
            state = _state(variables, names or ())
            if state is not None:
                runner.look_at_loop(*state, lines, look == 0)
            now = _count(variables, *count) if count else None
            if look == 1 and before and now and _never_meets(before, now):
                runner.end_in_loop_past_its_goal(now[0], now[1], now[0] - before[0])
            before = now
        yield iteration


def _look_at(iteration: int) -> int | None:
    """Which look at the loop it is, 0 for one that later ones are compared with; None for none."""
    if iteration < _FIRST_LOOK:
        return None
    power = 1 << (iteration.bit_length() - 1)
    if iteration - power <= power // _PART_BEHIND_POWER:
        return iteration - power
    return iteration % _LOOK_EVERY if iteration % _LOOK_EVERY <= 1 else None


def _count(variables: Any, name: str, goal: str | int) -> tuple[int, int, int] | None:
    """What counts, its goal, and in how many bits; None where they are no integers."""
    at = variables.get(name)
    end = values.unwrap(variables.get(goal) if isinstance(goal, str) else goal)
    is_block = isinstance(at, core.tensor) and at.shape
    if not isinstance(at, core.tensor) or is_block or not at.dtype.is_int():
        return None
    if isinstance(end, core.tensor) and (end.shape or end.dtype != at.dtype):
        return None
    if not isinstance(end, core.tensor | int):
        return None
    return int(at), int(end), at.dtype.primitive_bitwidth


def _never_meets(before: tuple[int, int, int], now: tuple[int, int, int]) -> bool:
    """Whether a number that wraps, and changes by the same step, never comes to its goal: the step
    has a power of two that the distance has not."""
    size = 1 << now[2]
    step, distance = (now[0] - before[0]) % size, (now[1] - now[0]) % size
    return distance % (step & -step or size) != 0


def _state(variables: Any, names: Iterable[str]) -> tuple[list[Any], int] | None:
    """The blocks that names stand for, and a number for all else; None where it is not known."""
    blocks: list[Any] = []
    others: list[str] = []
    found = [variables[name] for name in names if name in variables]
    for value in found:
        if isinstance(value, core.tensor):
            blocks.append(value.handle)
        elif isinstance(value, tuple | core.tuple):
            found.extend(value)
        elif isinstance(value, core.constexpr | core.dtype | int | float | str | None):
            others.append(repr(value))
        elif not callable(value) and not isinstance(value, types.ModuleType):
            return None
    return blocks, hash(tuple(others))


def counted(*bounds: Any, **_: Any) -> tl.range:
    """`range(...)` of a kernel; options, which only `tl.range` has, are ignored, as Triton does."""
    return tl.range(*bounds)


def iterate(items: Any) -> Any:
    """What a 'for' of a kernel runs over."""
    return counted(items.start, items.stop, items.step) if isinstance(items, range) else items


def logical_and(first: Any, *rest: Callable[[], Any]) -> Any:
    return _logical(first, rest, values.logical_and, decides=False)


def logical_or(first: Any, *rest: Callable[[], Any]) -> Any:
    return _logical(first, rest, values.logical_or, decides=True)


def _logical(first: Any, rest: Iterable[Callable[[], Any]], combine: Any, *, decides: bool) -> Any:
    """As when compiled: tensors are all evaluated, a constant decides or changes nothing."""
    result = None
    operands = itertools.chain([first], (operand() for operand in rest))
    for value in operands:
        if values.is_tensor(value):
            result = value if result is None else combine(result, value)
        elif bool(value) == decides:
            return value
    return value if result is None else result


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
    return _kernel().program == program


class KernelDebugger(pdb.Pdb):
    """Steps from the kernel into its nested functions, past this package and Python's modules."""

    def __init__(self) -> None:
        super().__init__(skip=["blockscope.*"], nosigint=True)

    def is_skipped_module(self, module_name: str | None) -> bool:
        top = (module_name or "").partition(".")[0]
        return top == "blockscope" or (top in sys.stdlib_module_names and top != "__main__")

    def set_trace(self, *args: Any, **named: Any) -> None:
        """Stop soon. From Python 3.14 on pdb.set_trace() takes the debugger that began last, which
        outside of kernels is to be the script's own."""
        last = getattr(pdb.Pdb, "_last_pdb_instance", None)
        super().set_trace(*args, **named)
        pdb.Pdb._last_pdb_instance = last  # type: ignore[attr-defined]

    def set_stepinstr(self) -> None:
        """Stop at the next line. From Python 3.13 on pdb begins at the next instruction, which may
        be of no line."""
        self.set_step()

    def error(self, msg: str) -> None:
        if "unsupported tensor index" in msg:
            msg += "; x.data[0] shows an element of a block x"
        super().error(msg)

    def get_stack(self, frame: Any, trace: Any) -> tuple[list[Any], int]:
        """Without our frames, so that `where`, `up` and `down` know the user's only."""
        stack, index = super().get_stack(frame, trace)
        if tracebacks.keeps_all():
            return stack, index
        users = set(map(id, tracebacks.users_stack([frame for frame, _ in stack])))
        shown = [item for item in stack if id(item[0]) in users]
        here = stack[index] if stack else None
        return shown, shown.index(here) if here in shown else max(0, len(shown) - 1)


def stop(frame: types.FrameType | None = None) -> None:
    """Stop in the kernel, as breakpoint() and pdb.set_trace() do, without showing our frames."""
    hook = sys.breakpointhook
    is_plain = hook is sys.__breakpointhook__ and "PYTHONBREAKPOINT" not in os.environ
    if not is_plain or pdb.set_trace.__module__ != "pdb":
        hook()
        return
    KernelDebugger().set_trace(frame or sys._getframe(1))


def stop_here() -> None:
    """breakpoint() of a kernel without a source."""
    if stops_here():
        stop(sys._getframe(1))


#: What builtins mean in a kernel. Where it is rewritten, only their calls are.
BUILTINS: dict[str, Any] = {
    "abs": abs_,
    "bool": bool_,
    "breakpoint": stop_here,
    "float": float_,
    "getattr": getattr_,
    "hasattr": hasattr_,
    "int": int_,
    "isinstance": isinstance_,
    "max": max_,
    "min": min_,
    "range": counted,
}
