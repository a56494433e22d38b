"""Finds the live tensor that holds a host address which a kernel loaded from memory."""

from __future__ import annotations

import gc
import sys
from typing import Any

from blockscope.runtime import buffers


def find(address: int) -> buffers.Buffer | None:
    """Return the tensor whose storage holds ``address``, or None.

    torch tensors are found through Python's garbage collector; so are tensors and arrays that are
    attributes or items of what it tracks only as far as torch goes: NumPy arrays are not tracked.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    for candidate in gc.get_objects():
        try:
            if not issubclass(type(candidate), torch.Tensor) or candidate.device.type != "cpu":
                continue
            storage = candidate.untyped_storage()
            begin = storage.data_ptr()
            if not begin <= address < begin + storage.nbytes():
                continue
            buffer = buffers.describe(candidate, "tensor")
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            continue
        # The whole storage, since a pointer in memory does not say which view it came from.
        buffer.pointer = begin
        count = buffer.storage_bytes // max(1, buffer.element_bytes)
        if len(buffer.shape) != 1 and candidate.is_contiguous() and candidate.numel() == count:
            buffer.shape, buffer.strides = tuple(candidate.shape), tuple(candidate.stride())
        else:
            buffer.shape, buffer.strides = (count,), (1,)
        buffer.owner_name = f"<tensor of {buffer.dtype} {list(candidate.shape)}>"
        return buffer
    return None
