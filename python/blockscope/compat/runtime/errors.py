"""Errors of the runtime, under the module path that Triton uses."""

from blockscope.errors import (
    AutotunerError,
    InterpreterError,
    OutOfResources,
    PTXASError,
    TritonError,
)

__all__ = ["AutotunerError", "InterpreterError", "OutOfResources", "PTXASError", "TritonError"]
