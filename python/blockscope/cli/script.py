"""Running a user's file as ``__main__``, the way python itself does."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import sys
import traceback
from types import CodeType, ModuleType, TracebackType
from typing import Protocol

from blockscope import drop_in
from blockscope.cli.usage import UsageError, no_file
from blockscope.errors import InterpreterError, TritonError
from blockscope.frontend import tracebacks

_TRACE = b"BLOCKSCOPE TRACE"  # the first bytes of one
_USERS_ERRORS = (TritonError, TypeError, ValueError, RuntimeError)

#: The status of a command that Ctrl-C ended.
INTERRUPTED = 130


def is_trace(path: str) -> bool:
    """Whether a file is what ``blockscope trace`` writes."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(len(_TRACE)) == _TRACE
    return False


class Runs(Protocol):
    """A script, or what takes its place: a launch file."""

    def run(self, silent: tuple[type[BaseException], ...] = ()) -> int: ...


class Script:
    """What ``FILE args``, ``-m MODULE args`` or ``-c CODE args`` on the command line mean."""

    def __init__(self, words: list[str]) -> None:
        if words[:1] == ["--"]:
            words = words[1:]
        if not words:
            raise UsageError("no file was named")
        self.module: str | None = None
        self.code: str | None = None
        self.file = words[0]
        if words[0] in ("-m", "-c"):
            if len(words) < 2:
                raise UsageError(f"{words[0]} needs an argument")
            if words[0] == "-m":
                self.module = words[1]
            else:
                self.code = words[1]
            self.argv = ["-c" if self.code is not None else words[1], *words[2:]]
        elif words[0].startswith("-"):
            raise UsageError(f"unknown option '{words[0]}' before the file")
        else:
            self.argv = list(words)
            if os.path.isdir(self.file):
                inner = os.path.join(self.file, "__main__.py")
                if not os.path.isfile(inner):
                    raise UsageError(f"'{self.file}' is a folder without a __main__.py")
                self.file = inner
            elif not os.path.isfile(self.file):
                raise no_file(self.file)
            elif is_trace(self.file):
                raise UsageError(
                    f"'{self.file}' is a trace, expected a script; it is looked at with: "
                    f"blockscope view {self.file}"
                )

    def run(self, silent: tuple[type[BaseException], ...] = ()) -> int:
        """Run it; gives its exit status. A traceback shows only the user's frames.

        Exceptions in ``silent`` give none: the caller reports them.
        """
        sys.argv[:] = self.argv
        try:
            self._execute()
        except SystemExit as stop:
            return _status(stop)
        except silent:
            return 1
        except KeyboardInterrupt:
            print_user_traceback()
            return INTERRUPTED
        except BaseException:
            print_user_traceback()
            return 1
        finally:
            flush()
        return 0

    def _execute(self) -> None:
        if self.module is not None:
            import runpy

            sys.path.insert(0, os.getcwd())
            runpy.run_module(self.module, run_name="__main__", alter_sys=True)
            return
        main = ModuleType("__main__")
        main.__dict__["__builtins__"] = builtins
        if self.code is not None:
            sys.path.insert(0, "")
            code: CodeType = compile(self.code, "<string>", "exec")
        else:
            # The file may move its own folder; python resolves links before it takes the folder.
            sys.path.insert(0, os.path.dirname(os.path.realpath(self.file)))
            main.__file__ = self.file
            main.__dict__["__cached__"] = None
            with io.open_code(os.path.abspath(self.file)) as stream:
                text = stream.read()
            code = compile(text, self.file, "exec", dont_inherit=True)
        sys.modules["__main__"] = main
        exec(code, main.__dict__)


def _status(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF
    print(stop.code, file=sys.stderr)
    return 1


def print_user_traceback() -> None:
    """The present exception without the frames of this package before the user's first one.

    Errors about what the user wrote, or has not got, also go without the frames of this package:
    their text says what to do.
    """
    kind, error, trace = sys.exc_info()
    package = os.path.dirname(os.path.dirname(__file__)) + os.sep
    trace = _from_users_first(trace, package) or _from_users_first(
        trace, os.path.dirname(__file__) + os.sep
    )  # an error of our own has no frame of the user, and needs ours
    if isinstance(error, SyntaxError):
        trace = _from_users_first(trace, package)  # its text names the line
    if kind is not None and sys.excepthook is not sys.__excepthook__:
        sys.excepthook(kind, error, trace)  # type: ignore[arg-type]
        return
    if kind is None or error is None:
        return
    report = traceback.TracebackException(kind, error, trace, compact=True)
    imports = drop_in.__file__  # is between an import and its error
    report.stack = traceback.StackSummary.from_list(
        [frame for frame in report.stack if frame.filename != imports]
    )
    if isinstance(error, _USERS_ERRORS) and not tracebacks.keeps_all():
        hidden = (package, contextlib.__file__)
        users = [f for f in report.stack if not f.filename.startswith(hidden)]
        report.stack = traceback.StackSummary.from_list(users)
        if isinstance(error, TritonError) and not isinstance(error, InterpreterError):
            report.__cause__ = None
    if getattr(error, "is_reported", False):
        print("blockscope: the script ended by an error that is reported above", file=sys.stderr)
        return
    print("".join(report.format()), end="", file=sys.stderr)
    if hint := _hint(error):
        print(f"blockscope: {hint}", file=sys.stderr)


def _from_users_first(trace: TracebackType | None, folder: str) -> TracebackType | None:
    """Without the frames of a folder of ours, and those of imports, that come first."""
    hidden = (folder, "<frozen runpy>", "<frozen importlib")
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(hidden):
        trace = trace.tb_next
    return trace


def _hint(error: BaseException) -> str:
    """The way out of an error of torch, on a machine whose GPU cannot be used."""
    text = str(error)
    is_of_cuda = isinstance(error, (AssertionError, RuntimeError)) and any(
        words in text for words in ("Torch not compiled with CUDA", "NVIDIA driver", "CUDA GPUs")
    )
    if not is_of_cuda:
        return ""
    from blockscope.driver.cuda import why_unavailable

    reason = why_unavailable()
    if reason is None:
        return ""
    why = reason.partition("; ")[0]  # what follows says what to do of kernels, not of tensors
    return (
        f"there is no GPU to use here: {why}. Kernels run on the CPU: make tensors there, with "
        "device='cpu' or triton.runtime.driver.active.get_active_torch_device()"
    )


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
