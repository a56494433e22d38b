"""Every exception that a user of Blockscope can meet, with its text.

The hierarchy has Triton's names, so that ``except triton.CompilationError`` keeps working. Texts
are lower case, without a final period, and say what was found and what was expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class TritonError(Exception):
    """Base of all errors that Triton's names cover."""


class CompilationError(TritonError):
    """A kernel that breaks a rule of the language.

    Takes the whole text, or Triton's three arguments: source text, ast node and message. The text
    starts with the place in the user's file once ``has_place`` is true; ``error_message`` is the
    message alone.
    """

    has_place = False

    def __init__(
        self, src: str | None = None, node: Any = None, error_message: str | None = None
    ) -> None:
        if error_message is None and node is None:
            src, error_message = None, src
        self.src = src
        self.node = node
        self.error_message = error_message or "the kernel does not compile"
        self.text = self._describe()
        super().__init__(src, node, error_message)

    @property
    def message(self) -> str:
        return str(self)

    def _describe(self) -> str:
        line, column = getattr(self.node, "lineno", None), getattr(self.node, "col_offset", 0)
        if line is None:
            return self.error_message
        lines = (self.src or "").splitlines()
        text = f"at {line}:{column + 1}: {self.error_message}"
        if 0 < line <= len(lines):
            text += f"\n  {lines[line - 1]}\n  {' ' * column}^"
        return text

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return (_compilation_error, (type(self), self.text, self.error_message, self.has_place))


def _compilation_error(
    kind: type[CompilationError], text: str, message: str, has_place: bool
) -> CompilationError:
    error = kind(text)
    error.error_message, error.has_place = message, has_place
    return error


CompileError = CompilationError


class CompileTimeAssertionFailure(CompilationError):
    """``tl.static_assert`` with a false condition."""


class UnsupportedLanguageConstruct(CompilationError):
    """Python syntax that the kernel language does not have."""


class OutOfResources(TritonError):
    """A kernel that needs more of a hardware resource than there is."""

    def __init__(self, required: Any, limit: Any, name: str) -> None:
        self.required = required
        self.limit = limit
        self.name = name
        super().__init__(required, limit, name)

    def __str__(self) -> str:
        return (
            f"out of resource: {self.name}, required: {self.required}, "
            f"hardware limit: {self.limit}\n"
            "  hint: smaller blocks or fewer stages need less"
        )


class PTXASError(TritonError):
    """The assembler of the GPU back end refused a kernel."""

    def __init__(self, error_message: str | None = None) -> None:
        self.error_message = error_message or ""
        super().__init__(self.error_message)

    def __str__(self) -> str:
        return f"ptxas error: {self.error_message}" if self.error_message else "ptxas error"


class AutotunerError(TritonError):
    """The autotuner has no configuration to run."""


class InterpreterError(TritonError):
    """A kernel failed in step mode."""

    def __init__(self, error_message: str | None = None) -> None:
        self.error_message = error_message or ""
        super().__init__(self.error_message)

    def __str__(self) -> str:
        return self.error_message


class SanitizerError(TritonError):
    """A checked run has findings of error severity; ``findings`` holds them."""

    def __init__(self, text: str, findings: Sequence[Any] = ()) -> None:
        self.findings = list(findings)
        super().__init__(text)


class InternalError(TritonError):
    """Blockscope itself is wrong; the text carries what is needed to reproduce it."""


class NotYetSupported(NotImplementedError, TritonError):
    """Something of Triton that Blockscope does not have yet."""
