"""Finds the live tensor that holds a host address which a kernel loaded from memory."""

from __future__ import annotations

import bisect
import gc
import sys
import weakref
from typing import Any

from blockscope.runtime import buffers


class LiveTensors:
    """The CPU tensors that are alive when a launch first meets an address it does not know.

    torch tensors are found through Python's garbage collector; NumPy arrays are not tracked by it.
    Nothing is kept alive: a launch holds its arguments, and others are looked at by weak reference.
    """

    def __init__(self) -> None:
        torch: Any = sys.modules.get("torch")
        found: dict[int, tuple[int, Any]] = {}  # begin of a storage -> its end, one tensor in it
        for candidate in gc.get_objects() if torch is not None else ():
            try:
                if not issubclass(type(candidate), torch.Tensor) or candidate.device.type != "cpu":
                    continue
                storage = candidate.untyped_storage()
                begin = storage.data_ptr()
                end = begin + storage.nbytes()
            except (RuntimeError, TypeError, ValueError, NotImplementedError):
                continue
            if begin < end and end > found.get(begin, (0, None))[0]:
                found[begin] = (end, weakref.ref(candidate))
        self.begins = sorted(found)
        self.ends = [found[begin][0] for begin in self.begins]
        self.tensors = [found[begin][1] for begin in self.begins]

    def find(self, address: int) -> buffers.Buffer | None:
        """Return the tensor whose storage holds ``address``, or None."""
        place = bisect.bisect_right(self.begins, address) - 1
        if place < 0 or address >= self.ends[place]:
            return None
        tensor = self.tensors[place]()
        if tensor is None:
            return None
        try:
            buffer = buffers.describe(tensor, "tensor")
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            return None
        # The whole storage, since a pointer in memory does not say which view it came from.
        buffer.pointer = self.begins[place]
        count = buffer.storage_bytes // max(1, buffer.element_bytes)
        if len(buffer.shape) != 1 and tensor.is_contiguous() and tensor.numel() == count:
            buffer.shape, buffer.strides = tuple(tensor.shape), tuple(tensor.stride())
        else:
            buffer.shape, buffer.strides = (count,), (1,)
        buffer.owner_name = f"<tensor of {buffer.dtype} {list(tensor.shape)}>"
        return buffer
