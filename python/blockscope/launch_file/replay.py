"""Recorded launches made again: kernel, arguments, settings and memory as they were."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from blockscope import _core, checks, knobs
from blockscope.errors import LaunchFileError
from blockscope.launch_file.contents import File, Launch
from blockscope.launch_file.fields import Field
from blockscope.launch_file.memory import Memory
from blockscope.launch_file.rebuild import Functions, install_sources, take_sources_back
from blockscope.runtime.tensor_descriptor import TensorDescriptor
from blockscope.runtime.tensors import TensorWrapper


class Replay:
    """The launches of a file, one after another, each as it was recorded.

    Until it is closed, Python shows the recorded source in the place of the files on the disk.
    Errors: LaunchFileError for what cannot be made again.
    """

    def __init__(self, file: File) -> None:
        self.file = file
        self._sources = install_sources(file.head)
        self._functions = Functions(file.head)
        self._memory = Memory(file)
        self._latest: dict[int, int] = {}  # the launch that each session has seen last

    def close(self) -> None:
        take_sources_back(self._sources)

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def kernel(self, launch: Launch) -> Any:
        return self._functions.get(launch.kernel)

    def run(self, launch: Launch, go: Callable[[Any, Any, Any, Any], Any] | None = None) -> Any:
        """Run a launch, as one of a script: open checks and traces watch it. ``go`` may do it in
        another way: it gets the kernel, the grid, the arguments and the keyword arguments."""
        kernel, args, kwargs = self.prepare(launch)
        with settings_of(launch):
            self._tell_sessions(launch)
            _core.number_next_launch(launch.number)
            if go is not None:
                return go(kernel, launch.grid, args, kwargs)
            return kernel[launch.grid](*args, **kwargs)

    def prepare(self, launch: Launch) -> tuple[Any, list[Any], dict[str, Any]]:
        """The kernel, and the arguments with the values that they had."""
        kernel = self.kernel(launch)
        self._memory.prepare(launch)
        for tensor in launch.behind:
            self._memory.tensor(tensor)
        args, kwargs = self._arguments(kernel, launch)
        for name, value in launch.options:
            kwargs[name] = self._functions.value(value)
        return kernel, args, kwargs

    def _arguments(self, kernel: Any, launch: Launch) -> tuple[list[Any], dict[str, Any]]:
        values = {name: self.value(value, launch) for name, value in launch.arguments}
        names = [param.name for param in kernel.params]
        if list(values) != names:
            raise LaunchFileError(
                f"'{self.file.path}' is damaged: launch {launch.number} has the arguments "
                f"{', '.join(values)}, and its kernel the parameters {', '.join(names)}"
            )
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for param in kernel.signature.parameters.values():
            value = values[param.name]
            if param.kind is inspect.Parameter.VAR_POSITIONAL:
                args += value
            elif param.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[param.name] = value
            else:
                args.append(value)
        return args, kwargs

    def value(self, field: Field, launch: Launch) -> Any:
        """The value of an argument."""
        value = field.value
        if not isinstance(value, dict) or len(value) != 1:
            return self._functions.value(field)
        (kind,) = value
        inner = field[kind]
        if kind == "tensor":
            return self._memory.tensor(launch.by_place[inner.place])
        if kind == "reinterpreted":
            base, dtype = inner.items(2, 2)
            return TensorWrapper(self.value(base, launch), self._functions.value(dtype))
        if kind == "descriptor":
            return self._descriptor(inner, launch)
        if kind == "tuple":
            return tuple([self.value(item, launch) for item in inner.items()])
        if kind in ("kernel_tuple", "named_tuple"):
            names, items = inner.items(2, 2)
            found = [self.value(item, launch) for item in items.items()]
            empty = Field(field.file, field.place, {kind: [names.value, [None] * len(found)]})
            made = self._functions.value(empty)
            return made._with(found) if kind == "kernel_tuple" else type(made)._make(found)
        return self._functions.value(field)

    def _descriptor(self, row: Field, launch: Launch) -> Any:
        numbers = {
            name: [n.number(-(2**62), 2**62) for n in row[name].items(1, 5)]
            for name in ("shape", "strides", "block_shape")
        }
        try:
            return TensorDescriptor(
                self.value(row["base"], launch),
                **numbers,
                padding=row["padding"].text(),
                round_f32_to_tf32=row["round_f32_to_tf32"].flag(),
            )
        except ValueError as error:
            raise row.wrong(f"a tensor descriptor ({error})") from None

    def _tell_sessions(self, launch: Launch) -> None:
        for session in checks.active():
            if isinstance(session, checks.CheckReport) and session.handle.watches_host():
                follows = self._latest.get(id(session), -1) == launch.number - 1
                self._memory.tell(session.handle, launch, follows=follows)
            self._latest[id(session)] = launch.number


@contextmanager
def settings_of(launch: Launch) -> Iterator[None]:
    """Inside, the settings that change what a kernel computes are those of the launch."""
    settings = launch.settings
    with knobs.runtime.scope(), knobs.compilation.scope(), knobs.language.scope():
        if launch.is_stepped:
            knobs.runtime.interpret = True
        knobs.runtime.debug = settings["debug"]
        knobs.compilation.allow_non_constexpr_globals = settings["allow_non_constexpr_globals"]
        if knobs.compilation.instrumentation_mode != settings["instrumentation_mode"]:
            knobs.compilation.instrumentation_mode = settings["instrumentation_mode"]
        if settings["fp32_default"] is not None:
            knobs.language.fp32_default = settings["fp32_default"]
        knobs.language.default_fp_fusion = settings["default_fp_fusion"]
        yield
