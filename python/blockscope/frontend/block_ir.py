"""From a kernel and the types of its arguments to block IR, for the CPU and for the GPU."""

from __future__ import annotations

from typing import Any

from blockscope import _core
from blockscope.frontend.generator import Generator
from blockscope.runtime.jit import current_generator, set_current_generator


def emit(fn: Any, arguments: list[Any], target: Any = None) -> tuple[Any, list[Any]]:
    """Return the builder that holds the kernel's IR, and the module variables that it read.

    ``target`` is what ``tl.target_info`` answers while the kernel is compiled; None is the CPU.

    Errors: CompilationError with the user's line when the kernel breaks a rule of the language.
    """
    from blockscope.runtime.launch import in_kernel, leaves

    builder = _core.IrBuilder()
    run_time = leaves(arguments)
    outer = current_generator()
    generator = Generator(builder)
    generator.target = target  # type: ignore[attr-defined]
    set_current_generator(generator)
    try:
        with builder:
            values = builder.begin_function(
                fn.__name__, [a.type for a in run_time], [a.name for a in run_time]
            )
            iterator = iter(values)
            generator.run_kernel(fn, {a.name: in_kernel(a, iterator) for a in arguments})
            builder.finish_function()
    finally:
        set_current_generator(outer)
    return builder, generator.used_globals
