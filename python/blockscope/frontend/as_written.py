"""Step mode for kernels without a source: the function as Python compiled it.

Nothing can be rewritten, so statements mean what they mean in Python. Numbers bound to names stay
Python's and have its precision until they meet a tensor; ``and``, ``or``, ``not`` and ``assert``
ask for the truth of a tensor, which a block does not have. Names of builtins are those of kernels:
loops over ``range`` count with tensors, ``max`` takes tensors, breakpoints ask for the program.
"""

from __future__ import annotations

import builtins
import inspect
import types
from typing import Any

from blockscope.language import core
from blockscope.process_lock import ProcessLock, loading

_one_thread = ProcessLock()


def function_as_written(fn: Any) -> types.FunctionType:
    """Return the function of a KernelFunction, all of whose parameters may be given by name."""
    with loading:
        from blockscope.frontend import step_runtime

    python = fn.fn
    code = python.__code__
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    code = code.replace(
        co_argcount=count,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~inspect.CO_VARARGS,
    )
    values = python.__globals__
    with _one_thread:  # a function takes its builtins from its module when it is made
        has_own, own = "__builtins__" in values, values.get("__builtins__")
        values["__builtins__"] = {**vars(builtins), **step_runtime.BUILTINS}
        try:
            return types.FunctionType(code, values, fn.__name__, None, python.__closure__)
        finally:
            if has_own:
                values["__builtins__"] = own
            else:
                del values["__builtins__"]


def plain_none(value: Any) -> Any:
    """A constexpr None as None itself: nothing makes ``is None`` look into a constexpr here."""
    return None if isinstance(value, core.constexpr) and value.value is None else value
