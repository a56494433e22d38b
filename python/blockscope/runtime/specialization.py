"""What a kernel is compiled for, in the words of ``ASTSource`` and of the hooks of ``knobs``."""

from __future__ import annotations

import hashlib
import json
import re
import reprlib
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

from blockscope.frontend.annotation import SHORT_NAMES
from blockscope.frontend.argument import Argument, leaves
from blockscope.frontend.kernel_function import KernelFunction, kernel_functions
from blockscope.language import core
from blockscope.lazy import lazy_property
from blockscope.runtime.alignment import ALIGNMENT, IS_ONE
from blockscope.runtime.ast_source import ASTSource, Path, constant_text
from blockscope.runtime.options import LAUNCH_OPTIONS

#: What a function that gives a kernel its name (``@jit(repr=...)``) is called with.
SpecializationProxy = namedtuple("SpecializationProxy", ["constants", "signature"])

JitFunctionInfo = namedtuple("JitFunctionInfo", ["module", "name", "jit_function"])

#: What is known of a run-time value, in the words of Triton where it knows such; by what
#: ``alignment.divisors`` says.
_FACTS = {ALIGNMENT: [["tt.divisibility", ALIGNMENT]], IS_ONE: [["blockscope.value", 1]]}


class Specialization:
    """The types, constants and options of a launch, its target and its device.

    ``divisors`` has what the kernel may know of each run-time value (``alignment.py``).
    """

    def __init__(
        self,
        fn: Any,
        arguments: list[Argument],
        options: dict[str, Any],
        target: Any,
        device: int,
        divisors: list[int],
    ) -> None:
        self.options = {**LAUNCH_OPTIONS, **options}
        self.target = target
        self.device = device
        constants: dict[Path, Any] = {}
        signature = {}
        for position, argument in enumerate(arguments):
            signature[argument.name] = _kind(argument)
            constants.update(_constants(argument, (position,)))
        paths = [path for i, a in enumerate(arguments) for path in _run_time_paths(a, (i,))]
        known = zip(paths, divisors, strict=True)
        attrs = {path: _FACTS[divisor] for path, divisor in known if divisor in _FACTS}
        self.source = ASTSource(fn, signature, constants, attrs)
        name = fn.repr(SpecializationProxy(self.source.constexprs, self.source.signature))
        self.name = name if name == fn.__name__ else _symbol(name)

    @lazy_property
    def key(self) -> str:
        """A text that is the same in every process for the same kernel."""
        source = self.source
        parts = [f"{name}: {kind}" for name, kind in source.signature.items()]
        parts += [f"{path} = {constant_text(value)}" for path, value in source.constants.items()]
        parts += [f"{path} {'= 1' if source.is_one(path) else '% 16'}" for path in source.attrs]
        options = [f"{name}={value!r}" for name, value in sorted(self.options.items())]
        return f"({', '.join(parts)}) [{', '.join(options)}] {self.target}"

    @lazy_property
    def hash(self) -> str:
        """Of the source and all of the specialization."""
        text = f"{self.source.fn.cache_key} {self.key}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def hook_arguments(self, *, is_warmup: bool) -> dict[str, Any]:
        """What ``jit_cache_hook`` and ``jit_post_compile_hook`` are called with."""
        fn, options = self.source.fn, self.options
        shown = {
            name: options[name]
            for name in (
                "num_warps",
                "num_ctas",
                "num_stages",
                "enable_fp_fusion",
                "launch_cooperative_grid",
            )
        }
        settings = ", ".join(f"{name}={value}" for name, value in shown.items())
        kinds = ", ".join(f"{name}: {kind}" for name, kind in self.source.signature.items())
        name = fn.fn.__qualname__
        libraries = options["extern_libs"] or ()
        return {
            "key": self.key,
            "repr": f"{name}[{settings}]({kinds})",
            "fn": JitFunctionInfo(fn.fn.__module__, name, fn),
            "compile": {
                "key": self.key,
                "signature": self.source.signature,
                "device": self.device,
                "constants": self.source.constants,
                **shown,
                "extern_libs": tuple(
                    libraries.items() if isinstance(libraries, dict) else libraries
                ),
                "configs": [self.source.attrs],
                "specialization_data": self.data(),
                "is_warmup": is_warmup,
            },
            "is_manual_warmup": is_warmup,
            "already_compiled": False,
        }

    def data(self) -> str:
        """The specialization as JSON, for ``JITFunction.preload`` in another process."""
        source = self.source
        return json.dumps(
            {
                "name": full_name(source.fn),
                "signature": source.signature,
                "constant_keys": list(source.constants),
                "constant_vals": [_encoded(value) for value in source.constants.values()],
                "attrs_keys": list(source.attrs),
                "attrs_vals": list(source.attrs.values()),
                "options": self.options,
                "key": self.key,
                "target": vars(self.target),
            },
            default=str,
        )


_DATA_KEYS = {
    "name", "target", "signature", "constant_keys", "constant_vals", "attrs_keys", "attrs_vals",
    "options",
}  # fmt: skip


def read_data(fn: Any, text: str, target: Any) -> tuple[ASTSource, dict[str, Any]]:
    """The source and the options that ``Specialization.data`` has written for ``fn``.

    Errors: ValueError for what is no such data, RuntimeError for the data of another kernel or
    target, or of an unknown function.
    """
    try:
        data = json.loads(text)
    except (TypeError, ValueError):
        data = None
    if not isinstance(data, dict) or not data.keys() >= _DATA_KEYS:
        raise ValueError(
            f"preload of '{fn.__name__}' got {reprlib.repr(text)}, expected the text that a hook "
            "was given as compile['specialization_data']"
        )
    wrong = "Specialization data is for {} but trying to preload for {}"
    if data["name"] != full_name(fn):
        raise RuntimeError(wrong.format(data["name"], full_name(fn)))
    if data["target"] != vars(target):
        raise RuntimeError(wrong.format(data["target"], target))
    constants = zip(map(_tuples, data["constant_keys"]), data["constant_vals"], strict=True)
    attrs = zip(map(_tuples, data["attrs_keys"]), data["attrs_vals"], strict=True)
    source = ASTSource(
        fn,
        {name: _tuples(kind) for name, kind in data["signature"].items()},
        {path: _decoded(value) for path, value in constants},
        dict(attrs),
    )
    options = {name: _tuples(value) for name, value in data["options"].items()}
    return source, {n: v for n, v in options.items() if v != LAUNCH_OPTIONS.get(n, v)}


def full_name(fn: Any) -> str:
    return f"{fn.fn.__module__}.{fn.fn.__qualname__}"


def short_name(dtype: Any) -> str:
    """``i32`` for int32, ``u1`` for int1, ``*fp32`` for a pointer, ``*kfp32`` for a const one."""
    if dtype.is_ptr():
        return f"*{'k' if dtype.is_const() else ''}{short_name(dtype.element_ty)}"
    name = str(dtype.name)
    return "u1" if name == "int1" else name.replace("uint", "u").replace("int", "i")


def short_names() -> dict[str, str]:
    """The short name of every element type, by its names."""
    return {**SHORT_NAMES, **{short: short for short in SHORT_NAMES.values()}, "void": "void"}


def _kind(argument: Argument) -> Any:
    if argument.key[0] == "descriptor":
        _, block, padding, rounds, *_ = argument.key
        element = short_name(argument.parts[0].type.element_ty)  # type: ignore[index]
        more = f"{', nan' if padding == 'nan' else ''}{', tf32' if rounds else ''}"
        return f"tensordesc<{element}{list(block)}{more}>"
    if argument.parts is not None:
        return tuple(_kind(part) for part in argument.parts)
    return "constexpr" if argument.type is None else short_name(argument.type)


def _constants(argument: Argument, path: Path) -> Iterator[tuple[Path, Any]]:
    if argument.key[0] == "descriptor":
        return
    if argument.parts is not None:
        for position, part in enumerate(argument.parts):
            yield from _constants(part, (*path, position))
    elif argument.type is None:
        yield path, argument.value


def _run_time_paths(argument: Argument, path: Path) -> Iterator[Path]:
    """One for each run-time value, in the order in which the kernel takes them."""
    if argument.parts is not None:
        for position, part in enumerate(argument.parts):
            yield from _run_time_paths(part, (*path, position))
    elif leaves([argument]):
        yield path


def _symbol(name: Any) -> str:
    """A name that may stand in PTX."""
    return re.sub(r"\W", "_", str(name), flags=re.ASCII)


def _encoded(value: Any) -> Any:
    if isinstance(value, core.constexpr):
        return {"constexpr": _encoded(value.value)}
    if isinstance(value, KernelFunction):
        return {"jit_function": f"{value.module}:{value.fn.__qualname__}"}
    if isinstance(value, core.dtype):
        return {"dtype": value.name}
    if isinstance(value, tuple | list):
        return [_encoded(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"unknown": f"{type(value).__name__} {value}"}


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(item) for item in value)
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "constexpr":
        return core.constexpr(_decoded(inner))
    if kind == "dtype":
        return core.dtype(inner)
    if kind == "jit_function" and inner in kernel_functions:
        return kernel_functions[inner]
    raise RuntimeError(f"a constant of the specialization data is not known here: {inner}")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
