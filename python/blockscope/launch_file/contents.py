"""What a launch file says, read and checked; nothing of it is run, and no memory is taken yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockscope.errors import LaunchFileError
from blockscope.launch_file import dtypes
from blockscope.launch_file.container import Reader, memory_limit
from blockscope.launch_file.fields import Field

_BIG = 1 << 62
_RANK = 32
_DEPTH = 64


@dataclass(frozen=True)
class Tensor:
    """A tensor over a part of a block: its storage; ``offset`` is that of its first element."""

    name: str
    library: str
    dtype: str
    block: int
    begin: int
    storage_bytes: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_bytes: int
    read_only: bool
    device: str
    least: float | None = None  # where values are not kept
    largest: float | None = None


@dataclass(frozen=True)
class Undefined:
    """Which bytes of a block nobody has written since it was allocated at ``place``."""

    mask: Field
    place: tuple[str, int, int, str]
    generation: int
    touched: bool


@dataclass(frozen=True)
class BlockState:
    """What a block of memory held before a launch."""

    block: int
    data: Field | None
    undefined: Undefined | None
    addresses: tuple[tuple[int, int, int], ...]


@dataclass
class Launch:
    """One launch. Values of arguments are made later, by ``replay``."""

    number: int
    kernel: Field
    kernel_name: str
    grid: tuple[int, int, int]
    is_stepped: bool
    settings: dict[str, Any]
    options: list[tuple[str, Field]]
    arguments: list[tuple[str, Field]]
    ir: Field | None
    memory: list[BlockState]
    behind: list[Tensor] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)  # of the arguments, and those behind
    by_place: dict[str, Tensor] = field(default_factory=dict)

    @property
    def keeps_values(self) -> bool:
        return all(state.data is not None for state in self.memory)


class File:
    """A launch file. Errors: LaunchFileError, also of the methods."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._reader = Reader(path)
        try:
            self.head = self._reader.head()
            self._read()
        except RecursionError:
            raise LaunchFileError(f"'{path}' is damaged: its values are nested too deep") from None
        except BaseException:
            self._reader.close()
            raise

    def _read(self) -> None:
        head = self.head
        self.environment = {name: text.text() for name, text in head["environment"].named()}
        for _, lines in head["files"].named():
            for _, line in lines.named():
                line.text()
        self.functions = head["functions"].items()
        for row in self.functions:
            row["kind"].choice("jit", "constexpr_function", "python", "class", "ir")
            row["name"].text(), row["file"].text(), row["text"].text()
        self.blocks = [
            (block["bytes"].number(0, _BIG), block["alignment"].number(0, 4095))
            for block in head["blocks"].items()
        ]
        self.launches = [self._launch(each) for each in head["launches"].items()]

    # -- launches ---------------------------------------------------------------------------------

    def _launch(self, row: Field) -> Launch:
        kernel = row["kernel"]
        function = self.functions[kernel.number(0, len(self.functions) - 1)]
        if function["kind"].value not in ("jit", "ir"):
            raise kernel.wrong("the number of a kernel")
        x, y, z = (size.number(1, 2**31 - 1) for size in row["grid"].items(3, 3))
        launch = Launch(
            row["number"].number(0, _BIG),
            kernel,
            function["name"].text(),
            (x, y, z),
            row["step"].flag(),
            _settings(row["settings"]),
            _pairs(row["options"]),
            _pairs(row["arguments"]),
            row.get("ir"),
            [],
        )
        if launch.ir is not None:
            self._reader.size_of(launch.ir)
        seen: set[int] = set()
        for each in row["memory"].items():
            read = self._state(each)
            if read.block in seen:
                raise each["block"].wrong("another block than those before")
            seen.add(read.block)
            launch.memory.append(read)
        for state in launch.memory:
            self._check_addresses(row, state, seen)
        if sum(self.blocks[block][0] for block in seen) > memory_limit():
            raise LaunchFileError(
                f"'{self.path}': launch {launch.number} needs "
                f"{sum(self.blocks[block][0] for block in seen)} bytes, at most two thirds of this "
                f"machine's memory can be had, {memory_limit()} bytes"
            )
        for name, value in launch.arguments:
            for tensor in _tensors_in(value):
                launch.by_place[tensor.place] = self._tensor(tensor, f"argument '{name}'", seen)
        for value in row["behind"].items():
            tensor = value["tensor"]
            launch.behind.append(self._tensor(tensor, "a tensor behind an address", seen))
        launch.tensors = [*launch.by_place.values(), *launch.behind]
        return launch

    def _state(self, row: Field) -> BlockState:
        block = row["block"].number(0, len(self.blocks) - 1)
        size, _ = self.blocks[block]
        data = row.get("data")
        if data is not None and self._reader.size_of(data) != size:
            raise data.wrong(f"the SHA-256 of {size} bytes")
        undefined = None
        if (said := row.get("undefined")) is not None:
            mask = said["mask"]
            if self._reader.size_of(mask) != (size + 7) // 8:
                raise mask.wrong(f"the SHA-256 of {(size + 7) // 8} bytes")
            file, line, column, function = said["allocated_at"].items(4, 4)
            place = (file.text(), line.number(0, 2**31 - 1), column.number(0, 2**31 - 1),
                     function.text())  # fmt: skip
            generation = said["generation"].number(1, _BIG)
            undefined = Undefined(mask, place, generation, said["touched"].flag())
        addresses = []
        for triple in said.items() if (said := row.get("addresses")) is not None else ():
            at, target, offset = triple.items(3, 3)
            addresses.append((
                at.number(0, size - 8), target.number(0, len(self.blocks) - 1),
                offset.number(0, _BIG),
            ))  # fmt: skip
        return BlockState(block, data, undefined, tuple(addresses))

    def _check_addresses(self, row: Field, state: BlockState, blocks: set[int]) -> None:
        for _, target, offset in state.addresses:
            if target not in blocks or offset >= self.blocks[target][0]:
                raise row["memory"].wrong("addresses of blocks that the launch has")

    def _tensor(self, row: Field, name: str, blocks: set[int]) -> Tensor:
        block = row["block"].number(0, len(self.blocks) - 1)
        if block not in blocks:
            raise row["block"].wrong("a block of this launch's memory")
        size, _ = self.blocks[block]
        begin, storage = (each.number(0, size) for each in row["storage"].items(2, 2))
        if begin + storage > size:
            raise row["storage"].wrong(f"a part of its block of {size} bytes")
        dtype = row["dtype"].choice(*dtypes.NAMES)
        element = row["element_bytes"].number(1, 8)
        if element != dtypes.element_bytes(dtype):
            raise row["element_bytes"].wrong(f"{dtypes.element_bytes(dtype)}, as {dtype} has")
        shape = tuple(n.number(0, _BIG) for n in row["shape"].items(0, _RANK))
        strides = tuple(n.number(-_BIG, _BIG) for n in row["strides"].items(len(shape), len(shape)))
        offset = row["offset"].number(-_BIG, _BIG)
        library = row["library"].choice("torch", "numpy", "other")
        if library != "other" and storage:
            reach = [(n - 1) * s * element for n, s in zip(shape, strides, strict=True)]
            low = offset + sum(min(0, r) for r in reach)
            high = offset + sum(max(0, r) for r in reach) + element
            if 0 not in shape and (low < 0 or high > storage):
                raise row["shape"].wrong(f"elements inside its storage of {storage} bytes")
        least = largest = None
        if (said := row.get("statistics")) is not None:
            least, largest = (_number(said.get(which)) for which in ("least", "largest"))
            if (least is None) != (largest is None) or (least or 0) > (largest or 0):
                raise said.wrong("a least and a largest value")
            least, largest = _fitting(dtype, least, largest, said)
        return Tensor(
            name, library, dtype, block, begin, storage, offset, shape, strides, element,
            row["read_only"].flag(), row["device"].text(), least, largest,
        )  # fmt: skip

    # -- bytes ------------------------------------------------------------------------------------

    def bytes_of(self, state: BlockState) -> bytes | None:
        """What a block held; None where values were not kept."""
        return None if state.data is None else self._reader.data(state.data)

    def mask_of(self, state: BlockState) -> Any:
        """A bool for each byte of a block: undefined."""
        return np.unpackbits(self.mask_bits_of(state), count=self.blocks[state.block][0]).view(bool)

    def mask_bits_of(self, state: BlockState) -> Any:
        """The same as bits, the first one the highest: an eighth of the block's memory."""
        assert state.undefined is not None
        return np.frombuffer(self._reader.data(state.undefined.mask), np.uint8)

    def ir_of(self, launch: Launch) -> str:
        """The block IR of a launch; empty where there is none."""
        if launch.ir is None:
            return ""
        try:
            return self._reader.data(launch.ir).decode()
        except UnicodeDecodeError:
            raise launch.ir.wrong("text") from None

    def close(self) -> None:
        self._reader.close()


def _pairs(row: Field) -> list[tuple[str, Field]]:
    found = [pair.items(2, 2) for pair in row.items()]
    return [(name.text(), value) for name, value in found]


def _settings(row: Field) -> dict[str, Any]:
    fp32 = row.get("fp32_default")
    return {
        "allow_non_constexpr_globals": row["allow_non_constexpr_globals"].flag(),
        "instrumentation_mode": row["instrumentation_mode"].choice("", "fpsan"),
        "fp32_default": fp32 and fp32.choice("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
        "default_fp_fusion": row["default_fp_fusion"].flag(),
        "debug": row["debug"].flag(),
    }


def _number(value: Field | None) -> float | None:
    if value is None:
        return None
    if isinstance(value.value, bool) or not isinstance(value.value, int | float):
        raise value.wrong("a number")
    return value.value


def _fitting(
    dtype: str, least: float | None, largest: float | None, said: Field
) -> tuple[float | None, float | None]:
    """Bounds that random numbers of a dtype can be made between."""
    if least is None or largest is None:
        return None, None
    if dtypes.is_float(dtype):
        if not abs(least) <= 1e308 or not abs(largest) <= 1e308:
            raise said.wrong("finite values")
        return least, largest
    kind = np.dtype("bool") if dtype == "int1" else np.dtype(dtype)
    low, high = (0, 1) if dtype == "int1" else (np.iinfo(kind).min, np.iinfo(kind).max)
    if not low <= least <= largest <= high:
        raise said.wrong(f"values of {dtype}")
    return least, largest


def _tensors_in(value: Field, depth: int = 0) -> Iterator[Field]:
    """The tensors in the value of an argument, in tuples and descriptors too."""
    if depth > _DEPTH:
        raise value.wrong(f"values at most {_DEPTH} deep")
    if not isinstance(value.value, dict):
        return
    for kind, inner in value.named():
        if kind == "tensor":
            yield inner
        elif kind == "descriptor":
            yield from _tensors_in(inner["base"], depth + 1)
        elif kind in ("tuple", "kernel_tuple", "named_tuple", "reinterpreted"):
            items = inner.items()
            for item in items[-1].items() if kind in ("kernel_tuple", "named_tuple") else items:
                yield from _tensors_in(item, depth + 1)
