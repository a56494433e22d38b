"""Tracebacks that show the user's lines: the launch, and in step mode the kernel."""

import signal
import sys
import types
from typing import Any

from blockscope.errors import CompilationError, TritonError

_kernel_code: set[types.CodeType] = set()
#: Errors about what the user wrote. Others, outside a kernel, are our mistakes and stay whole.
_USERS_ERRORS = (
    TritonError, TypeError, ValueError, KeyError, NameError, FileNotFoundError, KeyboardInterrupt
)  # fmt: skip


def note_kernel(code: types.CodeType) -> None:
    """Remember the code of a stepped kernel function: its frames are the user's."""
    _kernel_code.add(code)


def users_frames(
    error: BaseException, trace: types.TracebackType | None
) -> types.TracebackType | None:
    """Return ``trace`` without this package's frames, as far as they are of no use to the user."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    if isinstance(error, TritonError) and not keeps_all():
        _trim_cause(error)
    in_kernel = any(t.tb_frame.f_code in _kernel_code for t in frames)
    quits = type(error).__name__ == "BdbQuit"  # of a debugger
    is_users = in_kernel or isinstance(error, _USERS_ERRORS) or _is_raised_by_user(frames)
    if keeps_all() or not (is_users or quits):
        return frames[0] if frames else None
    result = None
    for item in reversed(frames):
        module = item.tb_frame.f_globals.get("__name__", "")
        is_ours = _is_our_module(module)
        # A kernel is walked inside context managers.
        is_ours = is_ours or (module == "contextlib" and isinstance(error, TritonError))
        # Whoever quits the debugger need not see how it ends the program.
        is_ours = is_ours or (module in ("bdb", "pdb") and quits)
        if item.tb_frame.f_code in _kernel_code or not is_ours:
            frame = item.tb_frame
            # A signal may come at an instruction without a line, such as the jump of a loop.
            # It is None, or -1 in Python 3.10.
            lines = (item.tb_lineno, frame.f_lineno, frame.f_code.co_firstlineno)
            line = next((each for each in lines if each and each > 0), 1)
            # Python 3.10 notes a frame twice that its debugger ends.
            if result is None or (result.tb_frame, result.tb_lineno) != (frame, line):
                result = types.TracebackType(result, frame, item.tb_lasti, line)
    return result


def users_stack(frames: list[types.FrameType]) -> list[types.FrameType]:
    """Those of the user among the frames of a stack, outermost first: not ours, and not those of a
    command of ours and of what started it. A command may be on the stack again, at a launch."""
    modules = [frame.f_globals.get("__name__", "") for frame in frames]
    begin = next((i for i, name in enumerate(modules) if name.startswith("blockscope.cli.")), 0)
    while (
        begin
        and begin < len(frames)
        and not (frames[begin].f_code in _kernel_code or _is_users_module(modules[begin]))
    ):
        begin += 1
    return [frame for frame in frames[begin:] if not is_ours(frame)]


def is_ours(frame: types.FrameType) -> bool:
    """Whether a frame is of this package's code, and so of no use to the user."""
    module = frame.f_globals.get("__name__", "")
    return frame.f_code not in _kernel_code and _is_our_module(module)


def _is_our_module(module: str) -> bool:
    return module == "blockscope" or module.startswith("blockscope.")


def _is_raised_by_user(frames: list[types.TracebackType]) -> bool:
    """Whether a function of the user that we have called raised it: a grid, a hook."""
    module = frames[-1].tb_frame.f_globals.get("__name__", "") if frames else ""
    return _is_users_module(module)


def _is_users_module(module: str) -> bool:
    top = module.partition(".")[0]
    return top not in ("", "blockscope") and (
        top == "__main__" or top not in sys.stdlib_module_names
    )


def is_from_signal(error: BaseException) -> bool:
    """Whether a signal handler of the program raised it: it came while we worked, and is not ours.

    Python runs handlers between any two instructions, so a time limit ends a compilation there.
    """
    codes = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _code_of(handler: Any) -> types.CodeType | None:
    """The code of a function, of a method, of what a partial calls, of an object that is called."""
    handler = getattr(handler, "func", handler)
    function = getattr(handler, "__func__", handler)
    if not hasattr(function, "__code__"):
        function = vars(type(handler)).get("__call__")
    return getattr(function, "__code__", None)


def keeps_all() -> bool:
    """Whether whoever works on this package wants to see its frames."""
    from blockscope import knobs  # late: commands word what is wrong with the environment

    return bool(knobs.compilation.front_end_debugging)


def _trim_cause(error: BaseException) -> None:
    """Without what the text of ``error`` says already: a cause that no code of the user raised.
    Programs that ask for it still get it."""
    cause = error.__cause__
    if cause is None:
        return
    trace = users_frames(cause, cause.__traceback__)
    modules = []
    while trace is not None:
        modules.append(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    if all(module == "contextlib" or module.startswith("blockscope") for module in modules):
        error.__cause__ = None
        error.__suppress_context__ = True
        if isinstance(error, CompilationError):
            error.unsaid_cause = cause.with_traceback(None)
