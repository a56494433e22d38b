"""Step mode: the kernel is plain Python, run over block values, one program after another."""

import sys
import types
from collections.abc import Iterator
from typing import Any

from blockscope import _core
from blockscope.errors import SourceNotFound, step_failure
from blockscope.frames import position, untraced
from blockscope.frontend import tracebacks
from blockscope.frontend.argument import Argument, in_kernel, leaves
from blockscope.frontend.as_written import function_as_written, plain_none
from blockscope.frontend.block_ir import Arithmetic
from blockscope.frontend.rewrite import LATER, stepped_function
from blockscope.frontend.scheduler import Scheduler, StoppedByFinding
from blockscope.language import context, core
from blockscope.language.bitcode import Library

#: The code of stepped functions by name. None: a part of the function around it, such as a
#: comprehension, which has a frame of its own.
_kernel_code: dict[types.CodeType, str | None] = {}
_PARTS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


def _function(fn: Any) -> types.FunctionType:
    stepped = fn.__dict__.get("_stepped")
    if stepped is None:
        with untraced():
            try:
                stepped = stepped_function(fn)
            except SourceNotFound:  # there is no source
                stepped = function_as_written(fn)
                fn._stepped_as_written = True
        fn._stepped = stepped
        _note_code(stepped.__code__, fn.__name__)
        tracebacks.note_kernel(stepped.__code__)
    return stepped


def _note_code(code: types.CodeType, name: str | None) -> None:
    """Remember the code of a function, and of those that it defines."""
    _kernel_code[code] = name
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            is_part = inner.co_name in _PARTS or LATER in inner.co_varnames
            _note_code(inner, None if is_part else inner.co_name)


def _call(fn: Any, function: types.FunctionType, values: dict[str, Any]) -> Any:
    if getattr(fn, "_stepped_as_written", False):
        values = {name: plain_none(value) for name, value in values.items()}
    return function(**values)


def _repeat(values: list[Any], step: Any) -> list[Any]:
    """A loop of the language; see context.Kernel."""
    goes_on = True
    while goes_on:
        values, again = step(values)
        goes_on = bool(again)
    return values


class _Programs:
    """The programs of one launch, started in order of their number."""

    def __init__(
        self, fn: Any, grid: tuple[int, int, int], num_warps: int, libraries: tuple[Library, ...]
    ) -> None:
        self.fn = fn
        self.num_warps = num_warps
        self.libraries = libraries
        self.function = _function(fn)
        self.rest = (
            (x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])
        )
        self.runner: Any = None
        self.values: dict[str, Any] = {}

    def call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a @jit function that the kernel calls."""
        function = _function(fn)
        self.runner.note_file(function.__code__.co_filename)
        result = _call(fn, function, fn.bind_in_kernel(args, kwargs))
        return core.tuple(result) if type(result) is tuple else result

    def run_next(self) -> bool:
        """Run the next program to its end; False when none is left."""
        program = next(self.rest, None)
        if program is None:
            return False
        context.enter(
            context.Kernel(
                self.call,
                _repeat,
                num_warps=self.num_warps,
                libraries=self.libraries,
                program=program,
                runner=self.runner,
            )
        )
        self.runner.begin_program(*program)
        _call(self.fn, self.function, self.values)
        self.runner.end_program()
        return True


def run(
    fn: Any,
    launch: Any,
    arguments: list[Argument],
    grid: tuple[int, int, int],
    *,
    has_atomics: bool,
    num_warps: int,
    arithmetic: Arithmetic,
) -> None:
    """Run every program of the grid, in order of its number; where one spins, the others go on."""
    programs = _Programs(fn, grid, num_warps, arithmetic.libraries)
    scheduler = Scheduler(
        programs.run_next, lambda: runner.scope(), lambda: runner.tell_not_resident()
    )
    runner = programs.runner = _core.StepRunner(
        launch,
        source_location,
        scheduler.on_spin,
        arithmetic.checks_overflow,
        arithmetic.has_payloads,
    )
    outer = context.current()
    failure = None
    runner.note_file(programs.function.__code__.co_filename)
    runner.begin_launch(has_atomics)
    scheduler.crowd = runner.crowd
    try:
        with runner.scope():
            run_time = iter([runner.value(a.type, a.bits) for a in leaves(arguments)])
            programs.values = {a.name: in_kernel(a, run_time) for a in arguments}
            scheduler.run()
    except StoppedByFinding:
        return
    except Exception as error:
        failure = step_failure(error)
        if failure is error:
            raise
    finally:
        context.enter(outer)
        runner.end_launch()
    if failure is not None:
        raise failure
    runner.finish()


def _kernel_frames() -> Iterator[types.FrameType]:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _kernel_code:
            yield frame
        frame = frame.f_back


def source_location() -> list[tuple[str, int, int, str]]:
    """Where the stepped kernel is: (file, line, column, function), innermost call first."""
    places = []
    part = None  # where the innermost part of the next function is
    for frame in _kernel_frames():
        name = _kernel_code[frame.f_code]
        line, column = part = part or position(frame)
        if name is not None:
            places.append((frame.f_code.co_filename, line, column, name))
            part = None
    return places
