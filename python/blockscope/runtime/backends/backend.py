"""What all backends do: compile a kernel for the arguments of a launch, and launch it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from blockscope.frontend.argument import Argument
from blockscope.runtime.compiled_kernel import CompiledKernel
from blockscope.runtime.grid import Grid
from blockscope.runtime.memory.buffer import Memory


@dataclass(slots=True)
class Request:
    """One launch: the kernel's function, its grid, its arguments, the options that were given;
    whether it only compiles, and the number of the device."""

    fn: Any
    grid: Grid
    arguments: list[Argument]
    options: dict[str, Any]
    is_warmup: bool = False
    device: int = 0


class Backend(Protocol):
    """A way to run kernels."""

    def memory(self) -> Memory:
        """Where the arguments of one launch have to be."""
        ...

    def compile(self, request: Request) -> CompiledKernel | None:
        """The kernel for the types and constants of these arguments; None when none is needed.

        Errors: CompilationError with the user's line, OutOfResources, OptionNotSupported;
        CompileSkipped when a hook does not want it.
        """
        ...

    def launch(self, kernel: Any, request: Request) -> None:
        """Run what ``compile`` gave for this request."""
        ...
