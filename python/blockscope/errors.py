"""Every exception that a user of Blockscope can meet, with its text.

The hierarchy has Triton's names, so that ``except triton.CompilationError`` keeps working. Texts
begin with Triton's sentence where it has one; else they are lower case, without a final period, and
say what was found and what was expected.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence


class TritonError(Exception):
    """Base of all errors that Triton's names cover."""


_own_cause: Any = BaseException.__cause__


class CompilationError(TritonError):
    """A kernel that breaks a rule of the language.

    ``file``, ``line`` and ``column`` (1-based) are the place in the user's Python source, None when
    it is not known; ``calls`` holds the call sites as file and line, innermost first, when the
    mistake is in a nested ``@jit`` function; ``error_message`` is the message alone. Takes the
    whole text, or Triton's three arguments: source text, ast node and message. ``has_place`` is
    true when the text says where.
    """

    has_place = False
    #: A cause that Python's report of an uncaught error leaves out: the text says it already.
    unsaid_cause: BaseException | None = None
    is_reported = False  # a command has printed it where the user sees it

    def __init__(
        self,
        src: str | None = None,
        node: Any = None,
        error_message: str | None = None,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        source_line: str | None = None,
        calls: Sequence[tuple[str, int]] = (),
    ) -> None:
        if error_message is None and node is None:
            src, error_message = None, src
        if line is None and hasattr(node, "lineno"):
            line, column = node.lineno, node.col_offset + 1
            lines = (src or "").splitlines()
            if source_line is None and 0 < node.lineno <= len(lines):
                source_line = lines[node.lineno - 1]
        self.src = src
        self.node = node
        self.error_message = error_message or "the kernel does not compile"
        self.file = file
        self.line = line
        self.column = column
        self.source_line = source_line
        self.calls = tuple(calls)
        self.has_place = line is not None
        self.text = self._describe()
        super().__init__(src, node, error_message)

    @property
    def message(self) -> str:
        return str(self)

    @property
    def __cause__(self) -> BaseException | None:
        """As in Triton, whose tests and users look into it."""
        return _own_cause.__get__(self) or self.unsaid_cause

    @__cause__.setter
    def __cause__(self, cause: BaseException | None) -> None:
        _own_cause.__set__(self, cause)

    def __str__(self) -> str:
        return self.text

    def _describe(self) -> str:
        """The place, the message, the source line with a caret, the call sites."""
        if self.line is None:
            return self.error_message
        place = f"{self.file}:{self.line}" if self.file else f"at {self.line}"
        if self.column is not None:
            place += f":{self.column}"
        text = f"{place}: error: {self.error_message}"
        if self.source_line is not None:
            text += f"\n  {self.source_line.rstrip()}"
            if self.column is not None:
                text += f"\n  {' ' * (self.column - 1)}^"
        for file, line in self.calls:
            text += f"\n  called from {file}:{line}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        # An ast node may not survive pickling, and nobody needs it in another process.
        state = {**self.__dict__, "node": None}
        return (type(self), (None, None, self.error_message), state)


CompileError = CompilationError


class CompileTimeAssertionFailure(CompilationError):
    """``tl.static_assert`` with a false condition."""


class UnsupportedLanguageConstruct(CompilationError):
    """Python syntax that the kernel language does not have."""


class SourceNotFound(CompilationError, OSError):
    """The source of a kernel cannot be read."""

    def __str__(self) -> str:
        return self.text


class OutOfResources(TritonError):
    """A kernel that needs more of a hardware resource than there is."""

    def __init__(
        self, required: Any, limit: Any, name: str, where: str = "", has_stages: bool = True
    ) -> None:
        self.required = required
        self.limit = limit
        self.name = name
        self.where = where  # the kernel and its line, where it is known
        self.has_stages = has_stages  # whether fewer of them may need less, as far as is known
        super().__init__(required, limit, name)

    _HINTS: ClassVar[dict[str, str]] = {
        "shared memory": "smaller blocks or fewer stages (num_stages) need less",
        "registers": "fewer warps (num_warps), smaller blocks or maxnreg need less",
        "registers of a thread": "fewer warps (num_warps), whose threads may have more registers "
        "each, smaller blocks, or a larger maxnreg where it is set",
        "threads of one CTA": "fewer warps (num_warps), or fewer registers a thread (maxnreg), fit",
    }

    def __str__(self) -> str:
        hint = self._HINTS.get(self.name, "smaller blocks or fewer stages need less")
        if self.name == "shared memory" and not self.has_stages:
            hint = "smaller blocks need less"
        return (
            f"{self.where + ': ' if self.where else ''}"
            f"out of resource: {self.name}, required: {self.required}, "
            f"hardware limit: {self.limit}\n  hint: {hint}"
        )


class PTXASError(TritonError):
    """The assembler of the GPU back end refused a kernel."""

    def __init__(self, error_message: str | None = None) -> None:
        self.error_message = error_message or ""
        super().__init__(self.error_message)

    def __str__(self) -> str:
        return f"ptxas error: {self.error_message}" if self.error_message else "ptxas error"


class LaunchError(TritonError, RuntimeError):
    """A kernel could not be loaded or launched on a GPU, or failed there."""


class NoGpu(TritonError, RuntimeError):
    """A GPU was asked for, and there is none that can be used."""


class AutotunerError(TritonError):
    """The autotuner has no configuration to run."""

    def __str__(self) -> str:
        return f"Autotuner error: {super().__str__()}"


class InterpreterError(TritonError):
    """A kernel failed in step mode."""

    def __init__(self, error_message: str | None = None) -> None:
        self.error_message = error_message or ""
        super().__init__(self.error_message)

    def __str__(self) -> str:
        return self.error_message


def step_failure(error: Exception) -> Exception:
    """What a stepped kernel raised, as an InterpreterError too, which is what Triton raises there.

    Only the exceptions of Python itself are made anew, with their traceback, under their name and
    text: ``except ValueError`` and what the user reads stay. Others are returned as they are.
    """
    kind = type(error)
    if isinstance(error, TritonError) or kind.__module__ != "builtins":
        return error
    failure: Any = _step_failure_again(kind, error.args, vars(error))
    if isinstance(error, AttributeError | NameError):
        failure.name = error.name
    if isinstance(error, AttributeError):
        failure.obj = error.obj
    failure.__cause__ = error.__cause__
    failure.__context__ = error.__context__
    failure.__suppress_context__ = error.__suppress_context__
    return failure.with_traceback(error.__traceback__)


@functools.cache
def _step_failure_of(kind: Any) -> Any:
    def reduce(self: Any) -> tuple[Any, ...]:
        return _step_failure_again, (kind, self.args, vars(self))

    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return type(kind.__name__, (kind, InterpreterError), {**names, "__reduce__": reduce})


def _step_failure_again(kind: Any, args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    failure = _step_failure_of(kind)(*args)
    failure.error_message = str(kind(*args))
    vars(failure).update(fields)
    return failure


class SanitizerError(TritonError, RuntimeError):
    """A run has findings of error severity; ``findings`` holds them.

    A RuntimeError, as what torch raises for a failed assert or a bad access on a GPU.
    """

    def __init__(self, text: str, findings: Sequence[Any] = ()) -> None:
        self.findings = list(findings)
        super().__init__(text)


class StoppedAtFirst(SanitizerError):
    """A check that stops at its first error has found it; no kernel runs any more."""


class BlockValueError(InterpreterError, ValueError):
    """A stepped kernel takes a block of several elements for one number, as in ``if block:``."""


class LaunchFileError(Exception):
    """A launch file that cannot be read, or a launch that cannot be put into one.

    One line: what a file of a stranger says neither ends it nor commands a terminal.
    """

    def __init__(self, text: str) -> None:
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))


class InternalError(TritonError):
    """Blockscope itself is wrong; the text carries what is needed to reproduce it."""


class NotYetSupported(NotImplementedError, TritonError):
    """Something of Triton that Blockscope does not have yet."""


class OptionNotSupported(NotYetSupported):
    """An option of a launch that cannot be honoured; autotune leaves such configurations out."""
