"""The memory of recorded launches: blocks with the bytes, sizes and alignment that they had."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from blockscope.errors import LaunchFileError
from blockscope.launch_file import dtypes
from blockscope.launch_file.container import are_equal
from blockscope.launch_file.contents import BlockState, File, Launch, Tensor

_ALIGNMENT = 4096
_PART = 1 << 22  # bytes of a block whose masks are looked at together, a multiple of 8


@dataclass
class _Block:
    whole: Any  # keeps the memory
    view: memoryview
    address: int
    changed: Any = None  # where the last launch found other bytes than the one before had left
    generation: int = 0  # of what is undefined, and where it is
    mask: Any = None  # of what is undefined, a bit for each byte


class Other:
    """A tensor that no library here can make: an address, a dtype, a shape and strides."""

    def __init__(self, tensor: Tensor, address: int, storage: int) -> None:
        self.dtype, self.shape = tensor.dtype, tensor.shape
        self._tensor, self._address, self._storage = tensor, address, storage

    def data_ptr(self) -> int:
        return self._address

    def stride(self) -> tuple[int, ...]:
        return self._tensor.strides

    def element_size(self) -> int:
        return self._tensor.element_bytes

    def untyped_storage(self) -> Any:
        return _OtherStorage(self._storage, self._tensor.storage_bytes)


class _OtherStorage:
    def __init__(self, address: int, size: int) -> None:
        self._address, self._size = address, size

    def data_ptr(self) -> int:
        return self._address

    def nbytes(self) -> int:
        return self._size


class Memory:
    """The blocks of a file, made when a launch needs them. They stay from launch to launch."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._blocks: dict[int, _Block] = {}
        self._kept: list[Any] = []

    def prepare(self, launch: Launch) -> None:
        """Have the blocks hold what they held when the launch was recorded.

        Errors: LaunchFileError where there is not that much memory.
        """
        for state in launch.memory:
            self._block(state.block)
        for state in launch.memory:
            block = self._block(state.block)
            data = self._file.bytes_of(state)
            if data is None:
                self._make_up(launch, state, block)
            elif are_equal(block.view, data):
                block.changed = np.zeros(len(data), bool)
            else:
                present, new = (np.frombuffer(b, np.uint8) for b in (block.view, data))
                block.changed = present != new
                present[:] = new
            words = np.frombuffer(block.view, np.uint8)
            for at, target, offset in state.addresses:
                address = self._block(target).address + offset
                words[at : at + 8] = np.frombuffer(address.to_bytes(8, "little"), np.uint8)

    def _block(self, number: int) -> _Block:
        found = self._blocks.get(number)
        if found is None:
            size, alignment = self._file.blocks[number]
            try:  # no array: an address behind the block is in no tensor
                whole = bytearray(size + _ALIGNMENT)
            except MemoryError:
                raise LaunchFileError(
                    f"'{self._file.path}' needs a block of {size} bytes, which this machine has not"
                ) from None
            address = ctypes.addressof(ctypes.c_char.from_buffer(whole))
            begin = (alignment - address) % _ALIGNMENT
            view = memoryview(whole)[begin : begin + size]
            found = self._blocks[number] = _Block(whole, view, address + begin)
        return found

    def address(self, number: int) -> int:
        return self._block(number).address

    def _make_up(self, launch: Launch, state: BlockState, block: _Block) -> None:
        """Values for memory whose own were not kept: random ones between those that are named."""
        random = np.random.default_rng(state.block)
        for tensor in launch.tensors:
            if tensor.block != state.block or tensor.least is None or tensor.largest is None:
                continue
            kind = dtypes.numpy_dtype(tensor.dtype)
            if kind is None:
                continue
            if dtypes.is_float(tensor.dtype):
                values = random.uniform(tensor.least, tensor.largest, tensor.shape).astype(kind)
            elif tensor.dtype == "int1":
                values = random.integers(0, 2, tensor.shape) > 0
            else:
                low, high = int(tensor.least), int(tensor.largest)
                values = random.integers(low, high, tensor.shape, kind, endpoint=True)
            self._array(tensor, kind)[...] = values

    # -- tensors ----------------------------------------------------------------------------------

    def tensor(self, tensor: Tensor) -> Any:
        """The tensor of a launch over its block.

        Errors: LaunchFileError where it cannot be made.
        """
        try:
            made = self._made(tensor)
        except (ValueError, TypeError, RuntimeError) as error:
            raise LaunchFileError(
                f"'{self._file.path}': {tensor.name} cannot be made: {error}"
            ) from None
        self._kept.append(made)
        return made

    def _made(self, tensor: Tensor) -> Any:
        library = tensor.library
        if library == "torch" and (found := self._of_torch(tensor)) is not None:
            return found
        kind = dtypes.numpy_dtype(tensor.dtype)
        # Arrays stand for tensors of a torch that is not here: what addresses in memory lead to is
        # looked for among arrays, and not among objects of ours.
        is_array = library == "numpy" or (
            library == "torch" and tensor.storage_bytes > 0 and find_spec("torch") is None
        )
        if is_array and kind is not None:
            array = self._array(tensor, kind)
            array.flags.writeable = not tensor.read_only
            return array
        storage = self._block(tensor.block).address + tensor.begin
        return Other(tensor, storage + tensor.offset, storage)

    def _of_torch(self, tensor: Tensor) -> Any:
        try:
            import torch
        except ImportError:
            return None
        kind = dtypes.torch_dtype(tensor.dtype)
        if kind is None:
            return None
        with torch.no_grad():
            if not tensor.storage_bytes:
                empty = torch.empty(tensor.shape, dtype=kind)
                empty.untyped_storage().resize_(0)
                return empty
            end = tensor.begin + tensor.storage_bytes
            view = self._block(tensor.block).view[tensor.begin : end]
            storage = torch.frombuffer(view, dtype=torch.uint8).untyped_storage()
            if tensor.offset % tensor.element_bytes:
                return None
            offset = tensor.offset // tensor.element_bytes
            return torch.empty(0, dtype=kind).set_(storage, offset, tensor.shape, tensor.strides)

    def _array(self, tensor: Tensor, kind: Any) -> Any:
        end = tensor.begin + tensor.storage_bytes
        whole: Any = np.frombuffer(self._block(tensor.block).view[tensor.begin : end], np.uint8)
        if not tensor.storage_bytes:
            whole = np.zeros(0, np.uint8)
        steps = [n * tensor.element_bytes for n in tensor.strides]
        return np.ndarray(tensor.shape, kind, whole, tensor.offset, steps)

    # -- what is undefined ------------------------------------------------------------------------

    def tell(self, session: Any, launch: Launch, *, follows: bool) -> None:
        """Tell a check's session which bytes nobody has written, before a launch.

        ``follows``: every launch before this one ran under the session, which knows of their
        writes. Else memory that a launch before may have written counts as written.
        """
        for state in launch.memory:
            block = self._block(state.block)
            size, undefined = len(block.view), state.undefined
            generation = undefined.generation if undefined is not None else 0
            is_same = follows and block.generation == generation
            mask = None if undefined is None else self._file.mask_bits_of(state)
            if undefined is not None and not is_same:
                session.host_allocation(block.address, size, *undefined.place)
            for begin, end in _runs(size, _defined(block, state, mask, is_same, follows)):
                count = end - begin
                elements = (block.address + begin, 1, [count], [1], block.address, size)
                session.host_write(elements)
            block.generation, block.mask = generation, mask


def _defined(
    block: _Block, state: BlockState, mask: Any, is_same: bool, follows: bool
) -> Callable[[int, int], Any]:
    """Gives a bool for each byte of a part of a block: whether it counts as written now."""

    def undefined(bits: Any, begin: int, end: int) -> Any:
        return np.unpackbits(bits[begin // 8 : -(-end // 8)], count=end - begin).view(bool)

    if mask is not None and is_same:
        # Values that are made up (--no-values) say nothing of what has changed.
        changed = block.changed if block.changed is not None else np.zeros(len(block.view), bool)
        return lambda begin, end: (
            undefined(block.mask, begin, end) & ~undefined(mask, begin, end) | changed[begin:end]
        )
    if mask is not None and (follows or not state.undefined.touched):  # type: ignore[union-attr]
        return lambda begin, end: ~undefined(mask, begin, end)
    if mask is None and is_same and block.changed is not None:
        return lambda begin, end: block.changed[begin:end]
    return lambda begin, end: np.ones(end - begin, bool)


def _runs(size: int, part_of: Callable[[int, int], Any]) -> list[tuple[int, int]]:
    """Where a mask is true: from, and up to. A block may have gigabytes, so it is seen in parts."""
    edges: list[int] = []
    last = False
    for begin in range(0, size, _PART):
        part = part_of(begin, min(size, begin + _PART))
        if bool(part[0]) is not last:
            edges.append(begin)
        edges += (np.flatnonzero(part[1:] != part[:-1]) + begin + 1).tolist()
        last = bool(part[-1])
    if last:
        edges.append(size)
    return list(zip(edges[::2], edges[1::2], strict=True))
