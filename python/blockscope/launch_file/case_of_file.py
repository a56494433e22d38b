"""The launch of a file as a ``Case``, which can be made smaller."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np

from blockscope.errors import LaunchFileError
from blockscope.launch_file import dtypes
from blockscope.launch_file.case import Argument, Case, Descriptor, Parts, Storage, Tensor, Text
from blockscope.launch_file.contents import File, Launch
from blockscope.launch_file.contents import Tensor as Recorded
from blockscope.launch_file.fields import Field
from blockscope.launch_file.replay import Replay
from blockscope.launch_file.source_text import text_of
from blockscope.lazy import LateModule
from blockscope.runtime.memory.buffer import element_count
from blockscope.runtime.tensor_descriptor import TensorDescriptor


class _Maker:
    def __init__(self, file: File, launch: Launch) -> None:
        self._file, self._launch = file, launch
        self._states = {state.block: state for state in launch.memory}
        self.storages: list[Storage] = []
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._taken: set[str] = {launch.kernel_name}

    def name(self, wanted: str) -> str:
        name = wanted if wanted.isidentifier() else f"tensor{len(self._taken)}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def tensor(self, recorded: Recorded, name: str) -> Tensor:
        key = (recorded.block, recorded.begin, recorded.storage_bytes)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.storages)
            self.storages.append(Storage("torch", "uint8", 0, "data"))
            self.storages[number] = self._storage(recorded)
        size = recorded.element_bytes
        if recorded.offset % size:
            raise LaunchFileError(f"{recorded.name} does not begin at one of its elements")
        offset = 0 if self.storages[number].is_gone else recorded.offset // size
        return Tensor(
            self.name(name), number, recorded.dtype, recorded.shape, recorded.strides, offset
        )

    def _storage(self, recorded: Recorded) -> Storage:
        library = _library(recorded)
        size = recorded.element_bytes
        count = recorded.storage_bytes // size
        if not recorded.storage_bytes and element_count(recorded.shape):
            count = element_count(recorded.shape)
            return Storage(library, recorded.dtype, count, "empty", is_gone=True)
        state = self._states[recorded.block]
        end = recorded.begin + count * size
        data = self._file.bytes_of(state)
        if data is None:
            raise LaunchFileError(
                "the values of the launch were not kept (--no-values), and it is not known which "
                "the finding needs"
            )
        raw = np.frombuffer(data, np.uint8)[recorded.begin : end].reshape(count, size)
        made = Storage(library, recorded.dtype, count, "data", raw)
        made.is_read_only = recorded.read_only
        unwritten = state.undefined is not None and not state.undefined.touched
        if unwritten and bool(self._file.mask_of(state)[recorded.begin : end].all()):
            made.fill = "empty"
        if state.addresses and recorded.dtype in ("int64", "uint64"):
            words = raw.reshape(-1).view(np.int64).tolist()
            for at, target, offset in state.addresses:
                if recorded.begin <= at < end:
                    words[(at - recorded.begin) // 8] = self._target(target, offset)
            made.fill, made.table = "table", words
        return made

    def _target(self, block: int, offset: int) -> tuple[int, int]:
        for (of, begin, size), number in self._numbers.items():
            if of == block and begin <= offset < begin + size:
                return number, offset - begin
        for recorded in self._launch.tensors:
            begin, size = recorded.begin, recorded.storage_bytes
            if recorded.block == block and begin <= offset < begin + size:
                key = (block, begin, size)
                self._numbers[key] = len(self.storages)
                self.storages.append(Storage("torch", "uint8", 0, "data"))
                self.storages[self._numbers[key]] = self._storage(recorded)
                return self._numbers[key], offset - begin
        raise LaunchFileError("an address in memory is of no tensor of the launch")

    def value(self, value: Field, name: str) -> Any:
        data = value.value
        if isinstance(data, dict) and len(data) == 1:
            (kind,) = data
            inner = value[kind]
            if kind == "tensor":
                return self.tensor(self._launch.by_place[inner.place], name)
            if kind == "tuple":
                items = [self.value(v, f"{name}_{i}") for i, v in enumerate(inner.items())]
                return Parts(items)
            if kind == "descriptor":
                made = self.value(inner["base"], name)
                shape, strides, block = (
                    [n.number(-(2**62), 2**62) for n in inner[part].items()]
                    for part in ("shape", "strides", "block_shape")
                )
                rounds = inner["round_f32_to_tf32"].flag()
                return Descriptor(made, shape, strides, block, inner["padding"].text(), rounds)
            if kind == "reinterpreted":
                raise LaunchFileError(
                    f"argument '{name}' is reinterpreted, which cannot be reduced"
                )
        if data is None or isinstance(data, bool | int | float):
            return data
        return Text(text_of(value, self._file, f"argument '{name}'"))


def _library(recorded: Recorded) -> str:
    """Whose functions make a tensor anew: NumPy's also those of torch where that is missing.
    Errors: LaunchFileError where neither can."""
    has_torch = find_spec("torch") is not None
    is_gone = not recorded.storage_bytes and element_count(recorded.shape)
    if dtypes.numpy_name(recorded.dtype) and (
        recorded.library == "numpy" or not (has_torch or is_gone)
    ):
        return "numpy"
    if dtypes.torch_dtype(recorded.dtype) is None:
        why = "which torch has not" if has_torch else "which needs torch, and that is not installed"
        raise LaunchFileError(f"{recorded.name} is of {recorded.dtype}, {why}")
    return "torch"


def case_of(file: File, launch: Launch, kernel: Any) -> Case:
    """The launch of a file. Errors: LaunchFileError for one that cannot be written as a few lines
    of Python."""
    maker = _Maker(file, launch)
    arguments = []
    for param, (name, value) in zip(kernel.params, launch.arguments, strict=True):
        made = maker.value(value, name)
        arguments.append(Argument(name, made, param.is_constexpr, param.is_variadic))
    behind = [maker.tensor(t, "tensor") for t in launch.behind]
    options = {name: text_of(value, file, f"option '{name}'") for name, value in launch.options}
    return Case(launch.kernel_name, launch.grid, arguments, maker.storages, options, behind)


_MODULES = {
    "np": "numpy", "torch": "torch", "triton": "triton", "tl": "triton.language",
    "base64": "base64", "zlib": "zlib",
}  # fmt: skip


def names_of(launch: Launch, kernel: Any, replay: Replay) -> dict[str, Any]:
    """What the lines of the launch's case may name, but for contents of memory."""
    space: dict[str, Any] = {launch.kernel_name: kernel, "TensorDescriptor": TensorDescriptor}
    space.update({name: LateModule(module) for name, module in _MODULES.items()})
    for name, value in launch.arguments:
        made = replay.value(value, launch) if "code" in json.dumps(value.value) else None
        if made is not None:
            space.setdefault(getattr(made, "__name__", name), made)
    return space
