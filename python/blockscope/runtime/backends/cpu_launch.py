"""A launch on the CPU as C++ sees it: arguments with exact extents, and who watches."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from blockscope import _core, checks, knobs
from blockscope.errors import SourceNotFound
from blockscope.frontend.argument import Argument, leaves
from blockscope.frontend.block_ir import Arithmetic
from blockscope.language import core
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.extern_libs import libraries_of
from blockscope.runtime.grid import beyond_gpus
from blockscope.runtime.memory.buffer import Buffer
from blockscope.runtime.memory.host import HostMemory
from blockscope.runtime.memory.live_tensors import LiveTensors
from blockscope.runtime.options import LAUNCH_OPTIONS, has_payloads, not_defaults


def host_memory() -> HostMemory:
    """The memory of one launch's arguments."""
    return HostMemory(lambda address: LiveTensors().find(address))


def open_launch(request: Request, sessions: tuple[Any, ...]) -> Any:
    """The _core.Launch of a request, its tensors added, watched by ``sessions``.

    Errors: ValueError for a tensor that has lost its memory, unless a check reports its accesses.
    """
    fn, options = request.fn, request.options
    # Without sessions only errors want to know.
    described = (_texts(request), None) if sessions else ([], lambda: _texts(request))
    texts, describe = described
    launch = _core.Launch(fn.__name__, request.grid, texts, asserts(options), describe)
    is_checked = any(isinstance(session, checks.CheckReport) for session in sessions)
    for argument in leaves(request.arguments):
        if argument.buffer is not None:
            b = argument.buffer
            if b.is_gone and not is_checked:
                raise _error_of_gone(argument.name, b)
            argument.bits = launch.add_tensor(
                argument.name,
                getattr(core, b.dtype).name,
                b.pointer,
                b.storage,
                b.storage_bytes,
                b.shape,
                b.strides,
                b.element_bytes,
                b.read_only,
                b.copied_from,
            )
    buffers = [argument.buffer for argument in leaves(request.arguments)]
    said = beyond_gpus(request.grid)
    are_copies = any(buffer is not None and buffer.copied_from for buffer in buffers)
    for session in sessions:
        session.attach(launch)
        if isinstance(session, checks.CheckReport):
            session.launches_of_copies += are_copies
            if said:
                _note_grid(session, fn, said)
            with suppress(SourceNotFound):  # a kernel that runs as Python compiled it
                source = fn.function_source
                last = source.first_line + source.text.count("\n")
                session.kernels.add((source.file, source.first_line, last, fn.__name__))
    return launch


def _note_grid(report: checks.CheckReport, fn: Any, said: str) -> None:
    """Tell a report of a grid that only the CPU can launch. The kernel's first line is its place:
    the launch may be anywhere, in a launch file as well."""
    with suppress(SourceNotFound):
        source = fn.function_source
        report.handle.note(
            "grid-too-large",
            fn.__name__,
            source.file,
            source.first_line,
            f"{said}: this launch fails there",
            "give the dimension of most programs to axis 0, which has no such limit",
        )


def _error_of_gone(name: str, buffer: Buffer) -> ValueError:
    return ValueError(
        f"argument '{name}': a {buffer.dtype} tensor of shape {list(buffer.shape)} has no memory "
        "(its storage was freed or moved)"
    )


def asserts(options: dict[str, Any]) -> bool:
    """Whether the asserts of a kernel are on."""
    return bool(options.get("debug") or knobs.runtime.debug)


def arithmetic_of(options: dict[str, Any]) -> Arithmetic:
    """How a kernel computes with these options and the knobs."""
    is_checked = options.get("sanitize_overflow", LAUNCH_OPTIONS["sanitize_overflow"])
    mode = options.get("instrumentation_mode", "")
    return Arithmetic(
        checks_overflow=asserts(options) and bool(is_checked),
        has_payloads=has_payloads(mode),
        libraries=libraries_of(options.get("extern_libs")),
    )


def description(arguments: list[Argument], options: dict[str, Any]) -> list[tuple[str, str]]:
    """The constants of a launch and its options that are no defaults, as texts by name, for who
    watches it, and its scalars, each with an empty text in its place."""
    texts: dict[str, str] = {}
    for argument in arguments:
        if argument.type is None and argument.parts is None:
            texts[argument.name] = repr(argument.value)
        texts |= {leaf.name: "" for leaf in leaves([argument]) if not leaf.type.is_ptr()}
    texts |= {name: repr(value) for name, value in not_defaults(options).items()}
    return list(texts.items())


def _texts(request: Request) -> list[tuple[str, str]]:
    scalars = {
        leaf.name: _core.scalar_text(leaf.type, leaf.bits)
        for leaf in leaves(request.arguments)
        if not leaf.type.is_ptr()
    }
    texts = description(request.arguments, request.options)
    return [(name, text or scalars.get(name, "")) for name, text in texts]


def finish(arguments: list[Argument]) -> None:
    """Give tensors that were copied what the kernel wrote."""
    for argument in arguments:
        if argument.buffer is not None and argument.buffer.finish is not None:
            argument.buffer.finish()
