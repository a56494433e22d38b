"""What loops of a kernel run over; compiled loops get their meaning from the front end."""

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from blockscope.language import context
from blockscope.language.core import (
    CONSTANT_INTEGER,
    constexpr,
    int32,
    int64,
    tensor,
    to_tensor,
    uint32,
    unwrap,
)
from blockscope.language.creation import full

MOST_STAGES = 64  # as for the kernel's option


def _count(name: str, value: Any) -> int | None:
    value = unwrap(value)
    if value is None:
        return None
    if isinstance(value, tensor | bool) or not isinstance(value, int):
        found = f"a tensor of {value.type}" if isinstance(value, tensor) else repr(value)
        raise TypeError(f"tl.range: {name} is {found}, expected {CONSTANT_INTEGER}")
    if not 0 <= value <= MOST_STAGES:
        raise ValueError(f"tl.range: {name} is {value}, expected 0 to {MOST_STAGES}")
    return value


def _flag(name: str, value: Any) -> bool:
    value = unwrap(value)
    if value is None or value in (0, 1):
        return bool(value)
    found = f"a tensor of {value.type}" if isinstance(value, tensor) else repr(value)
    raise TypeError(f"{name} is {found}, expected a constant True or False")


class _counted:
    """Loops that count from a start to an end by a step; given one bound, from 0."""

    __blockscope_builtin__ = True

    def __init__(self, arg1: Any, arg2: Any, step: Any) -> None:
        has_start = unwrap(arg2) is not None
        self.start = arg1 if has_start else constexpr(0)
        self.end = arg2 if has_start else arg1
        self.step = constexpr(1) if unwrap(step) is None else step

    def __iter__(self) -> Iterator[Any]:
        kernel = context.current()
        if kernel is None or kernel.runner is None:
            name = type(self).__name__
            raise RuntimeError(f"tl.{name} may be used only in a 'for' of a @jit kernel")
        return self._stepped()

    def _stepped(self) -> Iterator[Any]:
        """The loop in step mode: counts with scalar tensors of one integer type."""
        parts = [unwrap(b) for b in (self.start, self.end, self.step)]
        wide = index_type(parts)
        for index in noted(builtins.range(*(int(part) for part in parts))):
            yield full((), index, wide)


def index_type(bounds: Iterable[Any]) -> Any:
    """The type of a loop's index: int32, unless a bound needs more bits."""
    dtypes = [to_tensor(bound).dtype for bound in bounds]
    is_wide = any(dtype.primitive_bitwidth == 64 or dtype == uint32 for dtype in dtypes)
    return int64 if is_wide else int32


def noted(indices: Iterable[int]) -> Iterator[int]:
    """The same numbers; in step mode findings meanwhile name the iteration of the loop.

    Who counts up to an end that is known waits for nobody: the runner is told.
    """
    kernel = context.current()
    assert kernel is not None
    runner = kernel.runner
    depth = runner.loop_depth()
    has_end = isinstance(indices, builtins.range)
    try:
        for iteration, index in enumerate(indices):
            runner.set_loops(depth, iteration, has_end)
            yield index
    finally:
        runner.set_loops(depth, -1, has_end)


def unrolled(indices: Iterable[int], depth: int, tell: Callable[[int, int], None]) -> Iterator[int]:
    """The same numbers; who compiles or steps is told in which iteration of how many unrolled
    loops it is, which tells the accesses at one place of the source apart."""
    try:
        for iteration, index in enumerate(indices):
            tell(depth, iteration)
            yield index
    finally:
        tell(depth, -1)


class range(_counted):
    """``for i in tl.range(...)``: a loop at run time, with hints for the compiler.

    They change nothing in what is computed. On a GPU ``num_stages`` overrides the kernel's for this
    loop: its loads, not only those that feed a dot, start ``num_stages - 1`` iterations early
    (below 2: none). ``loop_unroll_factor`` above 1 is how many iterations become one before that;
    those that are left come after them, without stages. ``disable_licm`` has what does not change
    in the loop computed there. ``disallow_acc_multi_buffer`` holds anyway: sums of dots have one
    place. ``flatten`` and ``warp_specialize`` do nothing, and the compiler's note says so: what
    flattening is for, first loads of an inner loop that begin before the iteration of the loop
    around it does, happens without it.
    """

    def __init__(
        self,
        arg1: Any,
        arg2: Any = None,
        step: Any = None,
        num_stages: Any = None,
        loop_unroll_factor: Any = None,
        disallow_acc_multi_buffer: Any = False,
        flatten: Any = False,
        warp_specialize: Any = False,
        disable_licm: Any = False,
    ) -> None:
        super().__init__(arg1, arg2, step)
        self.num_stages = _count("num_stages", num_stages)
        self.loop_unroll_factor = _count("loop_unroll_factor", loop_unroll_factor)
        self.disallow_acc_multi_buffer = _flag(
            "tl.range: disallow_acc_multi_buffer", disallow_acc_multi_buffer
        )
        self.flatten = _flag("tl.range: flatten", flatten)
        self.warp_specialize = _flag("tl.range: warp_specialize", warp_specialize)
        self.disable_licm = _flag("tl.range: disable_licm", disable_licm)

    def hints(self) -> tuple[int | None, int | None, bool, bool, bool]:
        """What a compiled loop is made with."""
        return (
            self.num_stages,
            self.loop_unroll_factor,
            self.disable_licm,
            self.flatten,
            self.warp_specialize,
        )


class static_range(_counted):
    """``for i in tl.static_range(...)``: unrolled while compiling; ``i`` is constexpr."""

    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None:
        super().__init__(arg1, arg2, step)
        for name in ("start", "end", "step"):
            value = unwrap(getattr(self, name))
            if isinstance(value, tensor) or not hasattr(value, "__index__"):
                found = f"a tensor of {value.type}" if isinstance(value, tensor) else repr(value)
                raise TypeError(f"tl.static_range: {name} is {found}, expected {CONSTANT_INTEGER}")
            setattr(self, name, constexpr(int(value)))

    def indices(self) -> Iterable[int]:
        """What the loop counts."""
        return builtins.range(*(unwrap(b) for b in (self.start, self.end, self.step)))

    def _stepped(self) -> Iterator[Any]:
        kernel = context.current()
        assert kernel is not None
        runner = kernel.runner
        for index in unrolled(self.indices(), runner.unrolled_depth(), runner.set_unrolled):
            yield constexpr(index)


class condition:
    """``while tl.condition(c):``, the condition of a loop with wishes about how to compile it."""

    __blockscope_builtin__ = True

    def __init__(self, arg1: Any, disable_licm: Any = False) -> None:
        self.condition = arg1
        self.disable_licm = _flag("tl.condition: disable_licm", disable_licm)

    def __bool__(self) -> bool:
        return bool(self.condition)


__all__ = ["condition", "range", "static_range"]
