"""Step mode, under the module path that Triton uses for its interpreter.

The interpreter's private parts (its builder, its tensor handles, its patches) have no counterpart:
step mode runs the same evaluators as whole-kernel mode.
"""

from __future__ import annotations

from typing import Any

from blockscope.errors import InterpreterError
from blockscope.host import is_interpreting, set_interpret_mode
from blockscope.runtime.jit import JITFunction


class InterpretedFunction(JITFunction[Any]):
    """A kernel that always runs step by step, whatever TRITON_INTERPRET says."""

    steps_always = True


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'triton.runtime.interpreter' has no '{name}': only InterpretedFunction, "
        "InterpreterError and set_interpret_mode exist here"
    )


__all__ = ["InterpretedFunction", "InterpreterError", "is_interpreting", "set_interpret_mode"]
