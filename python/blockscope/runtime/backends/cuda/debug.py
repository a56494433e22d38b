"""What device_print and device_assert of a GPU kernel have written, as text and as an error.

The layout of the buffer is fixed in gpu_backend/gpu_kernel.h. It lies in host memory that the
GPU reaches, so it can be read even when the kernel was stopped.
"""

from __future__ import annotations

import struct
import sys
from typing import Any

from blockscope import _core, user_warnings
from blockscope.driver import driver
from blockscope.errors import LaunchError

_HEADER = struct.Struct("<IIII")
_RECORD = struct.Struct("<IiiiII")
_DEFAULT_BYTES = 1 << 20

_FORMATS = {
    "int1": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
    "fp16": "e", "fp32": "f", "fp64": "d",
}  # fmt: skip


class DebugBuffer:
    """The buffer of one launch."""

    def __init__(self, kernel: Any, device: int) -> None:
        size = getattr(driver.active.utils, "printf_fifo_bytes", _DEFAULT_BYTES)
        self.kernel = kernel
        self.device = device
        self.memory = _core.gpu.HostBuffer(device, _HEADER.size + size)
        _HEADER.pack_into(self.memory.bytes, 0, 0, size, 0, 0)

    @property
    def address(self) -> int:
        return self.memory.address

    def report(self, stream: int) -> None:
        """Wait for the launch, print what it printed, and raise for an assert that failed."""
        _core.gpu.synchronize(self.device, stream)
        used, capacity, failed, _ = _HEADER.unpack_from(self.memory.bytes, 0)
        sites = self.kernel.data["debug_sites"]
        records = read_records(self.memory.bytes, min(used, capacity))
        text = "".join(
            print_line(sites[site], program, index, values)
            for site, program, index, values in records
            if not sites[site]["is_assert"]
        )
        if text:
            sys.stdout.write(text)
        if used > capacity:
            print(
                f"kernel '{self.kernel.name}': {used - capacity} bytes of output are lost; "
                "triton.runtime.driver.active.utils.set_printf_fifo_size gives more room",
                file=sys.stderr,
            )
        for site, program, index, _ in records if failed else ():
            if sites[site]["is_assert"]:
                raise LaunchError(
                    assert_text(sites[site], program, index, failed, self.kernel.name)
                )
        if failed:
            raise LaunchError(f"kernel '{self.kernel.name}': {failed} elements failed an assert")


#: By device: a header with room for no record, which a graph may count in at any later time.
_unread: dict[int, Any] = {}


def unread_buffer(kernel: Any, device: int) -> int:
    """The address for a launch that is captured into a graph: when the graph runs, nobody reads."""
    user_warnings.warn(
        f"kernel '{kernel.name}' is captured into a graph: what its device_print and "
        "device_assert say is lost"
    )
    if device not in _unread:
        memory = _core.gpu.HostBuffer(device, _HEADER.size)
        _HEADER.pack_into(memory.bytes, 0, 0, 0, 0, 0)
        _unread.setdefault(device, memory)  # another thread may have been here meanwhile
    return int(_unread[device].address)


def read_records(memory: Any, used: int) -> list[tuple[int, tuple[int, int, int], int, list[int]]]:
    """Records as (site, program, element, values), in the order of program, site and element."""
    records = []
    position, end = _HEADER.size, _HEADER.size + used
    while position + _RECORD.size <= end:
        site, x, y, z, index, count = _RECORD.unpack_from(memory, position)
        position += _RECORD.size
        if position + 8 * count > end:
            break
        values = list(struct.unpack_from(f"<{count}Q", memory, position))
        position += 8 * count
        records.append((site, (x, y, z), index, values))
    return sorted(records, key=lambda r: (r[1][::-1], r[0], r[2]))


def _index_text(index: int, shape: list[int]) -> str:
    parts = []
    for size in reversed(shape):
        parts.append(str(index % size).rjust(len(str(size - 1))))
        index //= size
    return "(" + ", ".join(reversed(parts)) + ")"


def _value_text(bits: int, dtype: str, is_hex: bool) -> str:
    data = struct.pack("<Q", bits)
    if is_hex:
        width = struct.calcsize(_FORMATS.get(dtype, "Q"))
        return f"0x{bits & ((1 << 8 * width) - 1):0{2 * width}x}"
    if dtype == "bf16":
        return f"{struct.unpack('<f', struct.pack('<I', (bits & 0xFFFF) << 16))[0]:f}"
    if dtype in _FORMATS:
        value = struct.unpack_from("<" + _FORMATS[dtype], data)[0]
        return f"{value:f}" if isinstance(value, float) else str(int(value))
    return f"0x{bits:016x}"


def print_line(site: dict[str, Any], program: Any, index: int, values: list[int]) -> str:
    """One element's output: ``pid (0, 0, 0) idx (3) x: 1.500000``."""
    where = f"pid ({program[0]}, {program[1]}, {program[2]})"
    if not values:
        return f"{where} {site['text']}\n"
    lines = []
    for number, (bits, dtype) in enumerate(zip(values, site["values"], strict=True)):
        operand = f"(operand {number}) " if len(values) > 1 else ""
        value = _value_text(bits, dtype, site["hex"])
        place = _index_text(index, site["shape"]) if site["shape"] else "()"
        lines.append(f"{where} idx {place}{site['text']}{operand}{value}\n")
    return "".join(lines)


def assert_text(site: dict[str, Any], program: Any, index: int, failed: int, kernel: str) -> str:
    message = f": {site['text']}" if site["text"] else ""
    where = f"program ({program[0]}, {program[1]}, {program[2]})"
    if site["shape"]:
        where += f", element {_index_text(index, site['shape'])}"
    return (
        f"{site['file']}:{site['line']}: device-side assert failed{message}\n"
        f"  where: {where} of kernel '{kernel}'\n"
        f"  failed elements: {failed}"
    )
