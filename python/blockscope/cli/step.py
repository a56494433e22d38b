"""``blockscope step``: a kernel under pdb, which opens at its first line."""

from __future__ import annotations

import bdb
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blockscope import knobs
from blockscope.cli.script import Runs
from blockscope.errors import SourceNotFound
from blockscope.frontend.step_runtime import KernelDebugger
from blockscope.language import context
from blockscope.runtime import hooks


class _Debugger(KernelDebugger):
    """Stops once in each launch, at the first line of its kernel, in one program."""

    def __init__(self, program: tuple[int, ...]) -> None:
        super().__init__()
        self._program = program
        self._number = ""
        self.has_quit = self.has_stopped = False

    def interaction(self, *words: Any) -> None:
        self.has_stopped = True
        super().interaction(*words)

    def begin(self, file: str, line: int) -> str | None:
        """Have the kernel that runs next stopped at a line; gives what is wrong with that."""
        self.reset()
        self.botframe = sys._getframe()
        while self.botframe.f_back is not None:  # `where` shows from here on
            self.botframe = self.botframe.f_back
        problem: str | None = self.set_break(file, line, temporary=True)
        self._number = str(len(bdb.Breakpoint.bpbynumber) - 1)
        self.set_continue()
        if problem is None:
            sys.settrace(self.trace_dispatch)
        return problem

    def do_clear(self, arg: str) -> Any:
        if arg == self._number:  # pdb takes a temporary breakpoint away, with a line about it
            self.clear_bpbynumber(int(arg))
            return None
        return super().do_clear(arg)

    def set_quit(self) -> None:
        self.has_quit = True
        super().set_quit()

    def break_here(self, frame: Any) -> bool:
        kernel = context.current()
        if kernel is not None and kernel.program != self._program and self.temporary_at(frame):
            return False
        return super().break_here(frame)

    def temporary_at(self, frame: Any) -> bool:
        """Whether all breakpoints on this line are ours."""
        found = self.get_breaks(self.canonic(frame.f_code.co_filename), frame.f_lineno)
        return bool(found) and all(each.temporary for each in found)


@contextmanager
def stepping(program: tuple[int, ...]) -> Iterator[list[_Debugger]]:
    """Inside, each launch runs step by step, and stops at the first line of its kernel. Gives the
    debuggers of the launches."""
    debuggers: list[_Debugger] = []
    missed: set[str] = set()  # kernels whose launches did not stop

    def stepped(
        run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
    ) -> Any:
        if warmup:
            return run(fn, grid, args, kwargs, warmup=True)
        try:
            source = fn.function_source
            body = source.tree.body
        except SourceNotFound as error:
            print(f"blockscope: {error}", file=sys.stderr)
            return run(fn, grid, args, kwargs)
        debugger = _Debugger(program)
        debuggers.append(debugger)
        problem = debugger.begin(source.file, body[0].lineno)
        if problem is not None:
            print(f"blockscope: pdb cannot stop in '{fn.__name__}': {problem}", file=sys.stderr)
        try:
            return run(fn, grid, args, kwargs)
        finally:
            sys.settrace(None)
            if problem is None and not debugger.has_stopped and fn.__name__ not in missed:
                missed.add(fn.__name__)
                name = ",".join(map(str, program))
                print(
                    f"blockscope: pdb did not stop in '{fn.__name__}': a launch has no program "
                    f"{name}, or ended before it (--program names another)",
                    file=sys.stderr,
                )

    with hooks.intercepted(stepped), knobs.runtime.scope():
        knobs.runtime.interpret = True
        yield debuggers


def step_through(script: Runs, program: tuple[int, ...]) -> int:
    """Run a script or a launch file; gives its status."""
    with stepping(program) as debuggers:
        status = script.run(silent=(bdb.BdbQuit,))
        if not debuggers:
            print("no kernel was launched: pdb had nowhere to stop", file=sys.stderr)
        return 0 if any(each.has_quit for each in debuggers) else status
