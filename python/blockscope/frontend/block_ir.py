"""From a kernel and the types of its arguments to block IR, for the CPU and for the GPU."""

from __future__ import annotations

from typing import Any, NamedTuple

from blockscope import _core
from blockscope.errors import NotYetSupported
from blockscope.frontend.argument import Argument, in_kernel, leaves
from blockscope.frontend.generator import Generator
from blockscope.language import context, core
from blockscope.language.bitcode import Library


class Arithmetic(NamedTuple):
    """How kernels compute, beside what their code says."""

    #: Sums, differences and products of integers below 64 bits assert that they do not overflow.
    checks_overflow: bool = False
    #: Floats are computed as the integers that stand for them (docs/algebra.md).
    has_payloads: bool = False
    #: Bitcode whose functions the kernel may call.
    libraries: tuple[Library, ...] = ()


def emit(
    fn: Any,
    arguments: list[Argument],
    target: Any = None,
    *,
    name: str | None = None,
    num_warps: int = 4,
    prints: bool = True,
    arithmetic: Arithmetic = Arithmetic(),
) -> tuple[Any, list[Any], bool]:
    """Return the builder that holds the kernel's IR, records of what it read from outside, and
    whether it asked for ``num_warps``.

    ``target`` is what ``tl.target_info`` answers while the kernel is compiled; None is the CPU.
    ``name`` is the kernel's in the IR; None is that of the function. ``prints`` says whether
    ``tl.static_print`` prints.

    Errors: CompilationError with the user's line when the kernel breaks a rule of the language.
    """
    builder = _core.IrBuilder(arithmetic.checks_overflow, arithmetic.has_payloads)
    run_time = leaves(arguments)
    if (text := getattr(fn, "block_ir", None)) is not None:
        if arithmetic.has_payloads:
            raise NotYetSupported(
                f"'{fn.__name__}' is IR; the algebra is made of a kernel's source"
            )
        _check_memory(fn, run_time)
        builder.read(text)
        return builder, [], False
    generator = Generator(builder)
    kernel = context.Kernel(
        generator.inline,
        generator.repeat,
        target=target,
        num_warps=num_warps,
        libraries=arithmetic.libraries,
        prints=prints,
        place=generator.place,
    )
    outer = context.enter(kernel)
    try:
        with builder:
            values = builder.begin_function(
                name or fn.__name__, [a.type for a in run_time], [a.name for a in run_time]
            )
            iterator = iter(values)
            generator.run_kernel(fn, {a.name: in_kernel(a, iterator) for a in arguments})
            builder.finish_function()
    finally:
        context.enter(outer)
    return builder, generator.used.records, kernel.asks_num_warps


def _check_memory(fn: Any, arguments: list[Argument]) -> None:
    """The types of IR are fixed, and its integers have no sign.

    Errors: TypeError for a tensor of other elements.
    """
    if len(arguments) != len(fn.types):
        raise TypeError(f"the IR of '{fn.__name__}' takes {len(fn.types)} tensors and numbers")
    for argument, kind in zip(arguments, fn.types, strict=True):
        if argument.buffer is None:
            continue
        expected, found = kind.element_ty, core.dtype(argument.buffer.dtype)
        same = (expected.is_floating(), expected.primitive_bitwidth) == (
            found.is_floating(), found.primitive_bitwidth
        )  # fmt: skip
        if not same or (expected.is_floating() and expected != found):
            raise TypeError(
                f"argument '{argument.name}' is a {found} tensor, and the IR of '{fn.__name__}' "
                f"takes one of {expected}"
            )
