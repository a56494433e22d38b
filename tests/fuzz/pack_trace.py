#!/usr/bin/env python3
"""Turns a trace into an input of the fuzz target trace_file, or such an input into a trace.

    pack_trace.py TRACE.h5 INPUT
    pack_trace.py --unpack INPUT TRACE.h5

The form of an input is described in trace_file.cpp and zero_runs.h.
"""

import argparse
import re
import zlib
from pathlib import Path

ENVELOPE = 512
LONGEST = 65535


def pack(trace: bytes) -> bytes:
    version = int(trace.split()[2])
    packed = bytearray([version - 1])
    for run in re.finditer(rb"\0{1,%d}|[^\0]+" % LONGEST, trace[ENVELOPE:]):
        text = run.group()
        packed += b"\0" + len(text).to_bytes(2, "little") if text[0] == 0 else text
    return bytes(packed)


def unpack(packed: bytes) -> bytes:
    body, at = bytearray(), 1
    while at < len(packed):
        if packed[at]:
            body.append(packed[at])
            at += 1
        else:
            body += bytes(int.from_bytes(packed[at + 1 : at + 3], "little"))
            at += 3
    head = f"BLOCKSCOPE TRACE {packed[0] % 2 + 1}\nbytes {len(body) + ENVELOPE}\n"
    head += f"crc32 {zlib.crc32(body):08x}\nThe rest is HDF5.\n"
    return head.encode().ljust(ENVELOPE, b"\0") + body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unpack", action="store_true")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    change = unpack if options.unpack else pack
    options.target.write_bytes(change(options.source.read_bytes()))


if __name__ == "__main__":
    main()
