"""A launch as numbers that can be made smaller, and as the lines of Python that make it."""

from __future__ import annotations

import base64
import dataclasses
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockscope.launch_file import dtypes
from blockscope.launch_file.source_text import constant_text
from blockscope.runtime.memory.buffer import contiguous_strides, element_count

_FEW = 64  # elements that are written as numbers


@dataclass
class Storage:
    """Memory of ``count`` elements. ``fill`` says what is in it: ``data``, ``table`` (addresses of
    tensors), ``empty`` (nobody has written it), or what a function of the library makes: ``zeros``,
    ``ones``, ``full`` (of ``number``), ``arange``."""

    library: str
    dtype: str
    count: int
    fill: str
    data: Any = None  # raw bytes, an element a row
    number: Any = 0
    table: list[Any] = field(default_factory=list)  # numbers, and pairs of a storage and an offset
    is_gone: bool = False
    is_read_only: bool = False


@dataclass
class Tensor:
    """A view of a storage; strides and offset in elements."""

    name: str
    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def reach(self) -> int:
        """So many elements of its storage it needs."""
        if 0 in self.shape:
            return self.offset
        ends = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        return self.offset + sum(max(0, end) for end in ends) + 1

    @property
    def is_contiguous(self) -> bool:
        return self.strides == contiguous_strides(self.shape)


@dataclass
class Descriptor:
    tensor: Tensor
    shape: list[int]
    strides: list[int]
    block_shape: list[int]
    padding: str
    rounds: bool


@dataclass
class Parts:
    """A tuple."""

    items: list[Any]


@dataclass
class Text:
    """A value that stays: how it is written, and which functions have to be there for it."""

    text: str


@dataclass
class Argument:
    name: str
    value: Any  # a Tensor, a Descriptor, Parts, Text, a number
    is_constexpr: bool
    is_variadic: bool = False


@dataclass
class Case:
    """A launch. Copies share what is not changed."""

    kernel: str
    grid: tuple[int, int, int]
    arguments: list[Argument]
    storages: list[Storage]
    options: dict[str, str]
    behind: list[Tensor] = field(default_factory=list)

    def copy(self) -> Case:
        return dataclasses.replace(
            self,
            arguments=[dataclasses.replace(a, value=_copied(a.value)) for a in self.arguments],
            storages=[dataclasses.replace(s) for s in self.storages],
            behind=[_copied(t) for t in self.behind],
            options=dict(self.options),
        )

    def tensors(self) -> Iterator[Tensor]:
        for argument in self.arguments:
            yield from _tensors_of(argument.value)
        yield from self.behind

    def descriptors(self) -> Iterator[Descriptor]:
        for argument in self.arguments:
            if isinstance(argument.value, Descriptor):
                yield argument.value

    # -- as Python --------------------------------------------------------------------------------

    def lines(self, *, literal: bool) -> list[str]:
        """Python that makes the arguments and launches; with ``literal`` the contents of memory are
        written, else they are ``_data`` by the number of their storage."""
        lines: list[str] = []
        users: dict[int, list[Tensor]] = {}
        for tensor in [*self.behind, *self.tensors()]:
            if all(tensor is not other for other in users.get(tensor.storage, [])):
                users.setdefault(tensor.storage, []).append(tensor)
        names: dict[int, str] = {}
        # Tables need the addresses of what comes before them.
        for number in sorted(users, key=lambda n: self.storages[n].fill == "table"):
            lines += self._memory(number, users[number], names, literal)
        words = []
        is_keyword = False
        for argument in self.arguments:
            is_keyword |= argument.is_constexpr and not any(a.is_variadic for a in self.arguments)
            text = self._value_text(argument.value)
            if argument.is_variadic:
                words += [self._value_text(item) for item in argument.value.items]
            else:
                words.append(f"{argument.name}={text}" if is_keyword else text)
        words += [f"{name}={text}" for name, text in self.options.items()]
        grid = list(self.grid)
        while len(grid) > 1 and grid[-1] == 1:
            grid.pop()
        numbers = ", ".join(map(str, grid)) + ("," if len(grid) == 1 else "")
        lines.append(f"{self.kernel}[({numbers})]({', '.join(words)})")
        return lines

    def _memory(
        self, number: int, users: list[Tensor], names: dict[int, str], literal: bool
    ) -> list[str]:
        """The lines for one storage and its tensors."""
        storage, first = self.storages[number], users[0]
        whole = first.is_contiguous and first.offset == 0 and first.dtype == storage.dtype
        whole = whole and element_count(first.shape) == storage.count
        lines = []
        if whole:
            name = first.name
            lines.append(f"{name} = {self._made(number, first.shape, literal)}")
        elif len(users) == 1:
            name = first.name
            lines.append(f"{name} = {self._made(number, (storage.count,), literal)}")
            lines[-1] = f"{name} = {_view(lines[-1].partition(' = ')[2], storage, first)}"
        else:
            name = f"memory{number}"
            lines.append(f"{name} = {self._made(number, (storage.count,), literal)}")
        names[number] = name
        for tensor in users[1:] if whole or len(users) == 1 else users:
            if tensor.name != name:
                is_same = (tensor.shape, tensor.strides, tensor.offset, tensor.dtype) == (
                    first.shape, first.strides, first.offset, first.dtype
                )  # fmt: skip
                view = (
                    name if is_same and whole else _view(_flat(name, whole, first), storage, tensor)
                )
                lines.append(f"{tensor.name} = {view}")
        if storage.is_gone:
            lines.append(f"{first.name}.untyped_storage().resize_(0)")
        if storage.is_read_only:
            lines += [f"{tensor.name}.flags.writeable = False" for tensor in users]
        return lines

    def _made(self, number: int, shape: tuple[int, ...], literal: bool) -> str:
        storage = self.storages[number]
        kind = _dtype_text(storage.dtype, storage.library)
        if storage.fill == "table":
            words = ", ".join(self._address(word) for word in storage.table)
            make = "torch.tensor" if storage.library == "torch" else "np.array"
            return f"{make}([{words}], dtype={kind})"
        if storage.fill == "data":
            if not literal:
                return f"_data({number}, {shape})"
            return _literal(storage, shape, kind)
        is_torch = storage.library == "torch"
        dims = ", ".join(map(str, shape))
        if storage.fill == "arange":
            flat = f"{'torch' if is_torch else 'np'}.arange({storage.count}, dtype={kind})"
            return flat if len(shape) == 1 else f"{flat}.reshape({dims})"
        if storage.fill == "full":
            return f"{'torch' if is_torch else 'np'}.full({shape}, {storage.number}, dtype={kind})"
        if is_torch:
            dims = dims or "()"
            also = "" if storage.dtype == "float32" else f", dtype={kind}"
            return f"torch.{storage.fill}({dims}{also})"
        return f"np.{storage.fill}({shape if len(shape) != 1 else shape[0]}, {kind})"

    def _address(self, word: Any) -> str:
        if isinstance(word, int):
            return str(word)
        storage, offset = word
        owner = next(t for t in [*self.behind, *self.tensors()] if t.storage == storage)
        size = dtypes.element_bytes(owner.dtype)
        offset -= owner.offset * size
        address = "data_ptr()" if self.storages[storage].library == "torch" else "ctypes.data"
        return f"{owner.name}.{address}" + (f" + {offset}" if offset else "")

    def _value_text(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return value.name
        if isinstance(value, Text):
            return value.text
        if isinstance(value, Parts):
            inner = ", ".join(self._value_text(item) for item in value.items)
            return f"({inner},)" if len(value.items) == 1 else f"({inner})"
        if isinstance(value, Descriptor):
            also = f", padding={value.padding!r}" if value.padding != "zero" else ""
            also += ", round_f32_to_tf32=True" if value.rounds else ""
            return (
                f"TensorDescriptor({value.tensor.name}, shape={value.shape}, "
                f"strides={value.strides}, block_shape={value.block_shape}{also})"
            )
        return constant_text(value)

    def values_of(self, number: int) -> Any:
        """The contents of a storage as numbers of NumPy; None where it has none such."""
        storage = self.storages[number]
        kind = dtypes.numpy_dtype(storage.dtype)
        if kind is None or storage.fill != "data" or not len(storage.data):
            return None
        return np.ascontiguousarray(storage.data).reshape(-1).view(kind)

    def data_of(self, number: int, shape: tuple[int, ...]) -> Any:
        """The contents of a storage, as the tensor that its line makes."""
        storage = self.storages[number]
        raw = np.ascontiguousarray(storage.data).reshape(-1)
        if storage.library == "torch":
            import torch

            kind = dtypes.torch_dtype(storage.dtype)
            return torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(kind).reshape(shape)
        return raw.view(dtypes.numpy_dtype(storage.dtype)).reshape(shape).copy()


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return dataclasses.replace(value)
    if isinstance(value, Parts):
        return Parts([_copied(item) for item in value.items])
    if isinstance(value, Descriptor):
        return dataclasses.replace(
            value, tensor=dataclasses.replace(value.tensor), shape=list(value.shape),
            strides=list(value.strides), block_shape=list(value.block_shape),
        )  # fmt: skip
    return value


def _tensors_of(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Parts):
        for item in value.items:
            yield from _tensors_of(item)
    elif isinstance(value, Descriptor):
        yield value.tensor


def _flat(name: str, whole: bool, first: Tensor) -> str:
    return f"{name}.reshape(-1)" if whole and len(first.shape) != 1 else name


def _view(base: str, storage: Storage, tensor: Tensor) -> str:
    if tensor.dtype != storage.dtype:
        base += f".view({_dtype_text(tensor.dtype, storage.library)})"
    if storage.library == "torch":
        offset = f", {tensor.offset}" if tensor.offset else ""
        return f"{base}.as_strided({tensor.shape}, {tensor.strides}{offset})"
    size = dtypes.element_bytes(tensor.dtype)
    steps = tuple(s * size for s in tensor.strides)
    part = f"[{tensor.offset}:]" if tensor.offset else ""
    return f"np.lib.stride_tricks.as_strided({base}{part}, {tensor.shape}, {steps})"


def _dtype_text(dtype: str, library: str) -> str:
    """ "torch.float16", "np.float16"."""
    if library == "torch":
        return str(dtypes.torch_dtype(dtype))
    return f"np.{dtypes.numpy_name(dtype)}"


def _literal(storage: Storage, shape: tuple[int, ...], kind: str) -> str:
    """Contents as numbers, or packed where they are many."""
    is_torch = storage.library == "torch"
    made = dtypes.numpy_dtype(storage.dtype)
    raw = np.ascontiguousarray(storage.data).reshape(-1)
    if made is not None and storage.count <= _FEW:
        values = raw.view(made).reshape(shape)
        text = _numbers(values.tolist() if values.dtype.kind in "iub" else
                        values.astype(np.float64).tolist())  # fmt: skip
        if is_torch:
            is_default = storage.dtype == "float32" and "." in text
            return f"torch.tensor({text}{'' if is_default else f', dtype={kind}'})"
        return f"np.array({text}, {kind})"
    packed = base64.b85encode(zlib.compress(raw.tobytes(), 9)).decode()
    bytes_ = f'zlib.decompress(base64.b85decode("{packed}"))'
    dims = ", ".join(map(str, shape))
    if is_torch:
        return f"torch.frombuffer(bytearray({bytes_}), dtype={kind}).reshape({dims})"
    return f"np.frombuffer({bytes_}, {kind}).reshape({dims}).copy()"


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
