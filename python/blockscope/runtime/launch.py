"""One launch: arguments are checked and classified, then the kernel runs in its mode."""

from __future__ import annotations

import difflib
import functools
import linecache
import warnings
from collections.abc import Sequence
from typing import Any

from blockscope import _core, checks, knobs
from blockscope.driver import driver
from blockscope.host import is_interpreting
from blockscope.language import core
from blockscope.runtime.backends.flat import CompiledKernel
from blockscope.runtime.jit import LAUNCH_OPTIONS, JITFunction
from blockscope.runtime.memory import buffers
from blockscope.runtime.memory import device as device_buffers

_INT_RANGES = (
    (core.int32, -(2**31), 2**31),
    (core.uint32, 0, 2**32),
    (core.int64, -(2**63), 2**63),
    (core.uint64, 0, 2**64),
)
_launch_count = 0


def run(
    fn: JITFunction[Any], grid: Any, args: Sequence[Any], kwargs: dict[str, Any], *, warmup: bool
) -> Any:
    """Bind, classify and run. Returns the compiled kernel (whole-kernel mode) or None (steps)."""
    options = {
        k: kwargs.pop(k) for k in list(kwargs) if k in LAUNCH_OPTIONS and k not in fn.arg_names
    }
    bound = _bind(fn, args, kwargs)
    for hook in fn.pre_run_hooks:
        hook(*args, **kwargs)
    size = _grid(fn, grid, bound, options)
    if size is None:
        if not warmup:
            raise TypeError(f"kernel '{fn.__name__}': 'grid' is None")
        size = (1, 1, 1)
    if 0 in size and not warmup:
        warnings.warn(
            f"kernel '{fn.__name__}': grid {size} has no programs, nothing runs",
            RuntimeWarning,
            stacklevel=4,
        )
        return None
    if warmup or not (is_interpreting() or checks.active()):
        device = _gpu_of(bound, options, warmup)
        if device is not None:
            from blockscope.runtime.backends.cuda import backend as gpu

            return gpu.launch(fn, size, bound, options, device, warmup=warmup)
    with device_buffers.host_copies():
        return _run_on_cpu(fn, size, bound, options, warmup)


def _gpu_of(bound: dict[str, Any], options: dict[str, Any], warmup: bool) -> int | None:
    """The GPU that the launch goes to, or None for the CPU. Naming a target decides."""
    if warmup and options.get("arch"):
        return None if options["arch"] == "cpu" else device_buffers.ANY_DEVICE
    if not driver.is_gpu_active():
        return None
    from blockscope.runtime.backends.cuda import backend as gpu

    return gpu.chosen_device(bound.values())


def _run_on_cpu(
    fn: JITFunction[Any], size: Any, bound: dict[str, Any], options: dict[str, Any], warmup: bool
) -> Any:
    arguments = [_classify(param, bound[param.name]) for param in fn.params]
    if is_interpreting() and not warmup:
        with checks.watching() as sessions:
            _run_stepped(fn, size, arguments, options, sessions)
        return None
    kernel = _compile(fn, arguments, options)
    if warmup:
        return kernel
    with checks.watching() as sessions:
        _run_compiled(fn, kernel, size, arguments, options, sessions)
    return kernel


def _run_stepped(
    fn: Any, size: Any, arguments: list[Argument], options: Any, sessions: Any
) -> None:
    from blockscope.frontend import step, waiting

    atomics = not sessions or waiting.has_atomics(
        fn, arguments, lambda: _compile(fn, arguments, options)
    )
    launch = _open_launch(fn, size, arguments, options, sessions)
    try:
        step.run(fn, launch, arguments, size, atomics)
    finally:
        _finish(arguments)


def _run_compiled(
    fn: Any,
    kernel: CompiledKernel,
    size: Any,
    arguments: list[Argument],
    options: Any,
    sessions: Any,
) -> None:
    from blockscope.knobs import LazyDict

    launch = _open_launch(fn, size, arguments, options, sessions)
    enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    metadata = None
    if enter or leave:
        metadata = LazyDict({"name": kernel.name, "function": None, "stream": 0})
        if fn.launch_metadata is not None:
            named = {a.name: a.value for a in arguments}
            metadata.add(fn.launch_metadata, (size, kernel.metadata, named))
    if enter:
        enter(metadata)
    try:
        launch.run(kernel.program, [a.bits for a in leaves(arguments)])
    finally:
        _finish(arguments)
        if leave:
            leave(metadata)


def _finish(arguments: list[Argument]) -> None:
    for argument in arguments:
        if argument.buffer is not None and argument.buffer.finish is not None:
            argument.buffer.finish()


# -- binding ---------------------------------------------------------------------------------------


def _bind(fn: JITFunction[Any], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in kwargs if name not in fn.arg_names]
    if unknown:
        near = difflib.get_close_matches(unknown[0], [*fn.arg_names, *LAUNCH_OPTIONS], 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise KeyError(
            f"keyword argument '{unknown[0]}' was given to kernel '{fn.__name__}', which has no "
            f"such parameter or option (parameters: {', '.join(fn.arg_names)}){hint}"
        )
    try:
        bound = fn.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"kernel '{fn.__name__}': {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _grid(
    fn: Any, grid: Any, bound: dict[str, Any], options: dict[str, Any]
) -> tuple[int, int, int] | None:
    if callable(grid):
        grid = grid({**LAUNCH_DEFAULTS, **options, **bound})
    if grid is None:
        return None
    if isinstance(grid, int):
        grid = (grid,)
    sizes = []
    if len(grid) > 3 or len(grid) == 0:
        raise ValueError(
            f"kernel '{fn.__name__}': grid {tuple(grid)} has {len(grid)} dimensions, expected 1 "
            "to 3"
        )
    for axis, size in enumerate(grid):
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(
                f"kernel '{fn.__name__}': grid dimension {axis} is {size!r} "
                f"({type(size).__name__}), expected an int"
            )
        size = int(size)
        if size < 0 or size > 2**31 - 1:
            raise ValueError(
                f"kernel '{fn.__name__}': grid dimension {axis} is {size}, expected 0 to 2147483647"
            )
        sizes.append(size)
    return tuple(sizes + [1] * (3 - len(sizes)))  # type: ignore[return-value]


LAUNCH_DEFAULTS = {name: LAUNCH_OPTIONS[name] for name in ("num_warps", "num_stages", "num_ctas")}


class Argument:
    """One kernel argument: constexpr (``type`` is None), or a run-time value of a type."""

    __slots__ = ("bits", "buffer", "key", "name", "parts", "type", "value")

    def __init__(
        self, name: str, value: Any, key: Any, type_: Any = None, bits: int = 0, buffer: Any = None
    ) -> None:
        self.name = name
        self.value = value
        self.key = key  # what a compiled kernel depends on
        self.type = type_  # _core.Type
        self.bits = bits  # the value's bits, or the device address
        self.buffer = buffer
        self.parts: list[Argument] | None = None  # of a tuple


def _classify(param: Any, value: Any) -> Argument:
    name = param.name
    if param.is_constexpr:
        return _constexpr(param, value)
    return _run_time(param, name, value)


def _constexpr(param: Any, value: Any) -> Argument:
    if isinstance(value, core.constexpr):
        value = value.value
    if buffers.is_tensor(value) and not isinstance(value, JITFunction):
        raise TypeError(f"argument '{param.name}' is constexpr and cannot be a tensor")
    try:
        hash(value)
        key: Any = ("constexpr", type(value).__name__, value)
    except TypeError:
        key = ("constexpr", type(value).__name__, repr(value))
    return Argument(param.name, value, key)


def _run_time(param: Any, name: str, value: Any) -> Argument:
    kind = type(value)
    if isinstance(value, core.constexpr):
        value = value.value
        kind = type(value)
    if value is None or isinstance(value, core.dtype | JITFunction) or kind is str:
        return Argument(name, value, ("constexpr", kind.__name__, value))
    if kind is tuple or isinstance(value, tuple | core.tuple):
        return _tuple(param, name, value)
    fixed = _annotated_dtype(param)
    if kind is bool or kind is int or kind is float or _is_number(value):
        return _number(param, name, value, fixed)
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        return _descriptor(param, name, value)
    if buffers.is_tensor(value):
        buffer = buffers.describe(value, name)
        pointer = _pointer_to(buffer.dtype, param.is_const)
        return Argument(name, value, ("*", buffer.dtype, param.is_const), pointer, buffer=buffer)
    raise TypeError(
        f"argument '{name}' is a {kind.__module__}.{kind.__qualname__}; expected a tensor (an "
        "object with data_ptr(), __array_interface__ or DLPack), a number, a tuple or None"
    )


@functools.cache
def _pointer_to(dtype: str, is_const: bool) -> Any:
    return core.pointer_type(getattr(core, dtype), 1, is_const)


def _is_number(value: Any) -> bool:
    return (
        type(value).__module__ == "numpy"
        and hasattr(value, "item")
        and getattr(value, "shape", None) == ()
    )


def _annotated_dtype(param: Any) -> Any:
    annotation = param.annotation_object
    is_scalar = isinstance(annotation, core.dtype) and not annotation.is_ptr()
    return annotation if is_scalar else None


def _number(param: Any, name: str, value: Any, fixed: Any) -> Argument:
    if _is_number(value):
        value = value.item()
    if isinstance(value, bool):
        dtype = fixed or core.int1
    elif isinstance(value, int):
        if value == 1 and not param.do_not_specialize and fixed is None:
            return Argument(name, 1, ("constexpr", "int", 1))
        dtype = fixed or next((t for t, low, high in _INT_RANGES if low <= value < high), None)
        if dtype is None:
            raise OverflowError(f"argument '{name}' is {value}, which does not fit 64 bits")
    else:
        dtype = fixed or core.float32
    try:
        bits = _core.scalar_bits(dtype, value)
    except (ValueError, OverflowError, TypeError) as error:
        raise type(error)(f"argument '{name}': {error}") from None
    return Argument(name, value, (dtype,), dtype, bits)


def _tuple(param: Any, name: str, value: Any) -> Argument:
    parts = [_run_time(param, f"{name}.{i}", item) for i, item in enumerate(value)]
    argument = Argument(name, value, ("tuple", type(value), *(p.key for p in parts)))
    argument.parts = parts
    return argument


def _descriptor(param: Any, name: str, value: Any) -> Argument:
    from blockscope.runtime import descriptor_argument

    return descriptor_argument.classify(param, name, value)


def without_values(arguments: list[Argument]) -> list[Argument]:
    """The arguments as a kernel is compiled for them, without what they hold at run time."""
    result = []
    for argument in arguments:
        value = argument.value if argument.type is None else None
        plain = Argument(argument.name, value, argument.key, argument.type)
        if argument.parts is not None:
            plain.parts = without_values(argument.parts)
        result.append(plain)
    return result


def leaves(arguments: list[Argument]) -> list[Argument]:
    """The run-time parts of all arguments, in the order in which the kernel takes them."""
    found: list[Argument] = []
    for argument in arguments:
        if argument.parts is not None:
            found.extend(leaves(argument.parts))
        elif argument.type is not None:
            found.append(argument)
    return found


def in_kernel(argument: Argument, values: Any) -> Any:
    """The argument as the kernel sees it, run-time parts taken from the iterator ``values``."""
    if argument.parts is not None:
        parts = [in_kernel(part, values) for part in argument.parts]
        return core.tuple.like(argument.value, parts)
    if argument.type is not None:
        return next(values)
    if argument.value is None or isinstance(argument.value, JITFunction):
        return core.constexpr(argument.value) if argument.value is None else argument.value
    return core.constexpr(argument.value)


# -- compiling -------------------------------------------------------------------------------------


def _compile(
    fn: JITFunction[Any], arguments: list[Argument], options: dict[str, Any]
) -> CompiledKernel:
    key = tuple(argument.key for argument in arguments)
    kernel = fn.device_caches.get(key)
    if kernel is None or kernel.is_stale():
        kernel = CompiledKernel(fn, arguments, options)
        fn.device_caches[key] = kernel
    return kernel


# -- the launch as C++ sees it ---------------------------------------------------------------------


def _open_launch(
    fn: JITFunction[Any],
    size: Any,
    arguments: list[Argument],
    options: dict[str, Any],
    sessions: tuple[Any, ...],
) -> Any:
    global _launch_count
    debug = bool(options.get("debug") or fn.debug or knobs.runtime.debug or sessions)
    meta: list[tuple[str, str]] = []
    sources: list[tuple[str, str]] = []
    if sessions:
        meta = [(a.name, repr(a.value)) for a in arguments if a.type is None and a.parts is None]
        meta += [(name, repr(value)) for name, value in options.items()]
        file = fn.function_source.file
        sources = [(file, "".join(linecache.getlines(file)))]
    launch = _core.Launch(fn.__name__, size, meta, sources, _launch_count, debug)
    _launch_count += 1
    for argument in leaves(arguments):
        if argument.buffer is not None:
            b = argument.buffer
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
            )
    for session in sessions:
        session.attach(launch)
    return launch
