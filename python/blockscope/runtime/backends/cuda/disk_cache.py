"""Compiled GPU kernels kept between runs: one file each, safe with many processes.

A file has a line of JSON with the sizes of the parts that follow it, a checksum of everything after
that line, and the parts. It appears whole or not at all (written beside, then renamed). What cannot
be read, is short or does not match its checksum counts as absent and is written anew. Files are
removed, those used longest ago first, when all together are larger than the limit.

The folder is ``kernels`` below TRITON_CACHE_DIR, or below ~/.cache/blockscope. It is used only
while no other user can change what is in it. BLOCKSCOPE_CACHE=0 turns the cache off,
BLOCKSCOPE_CACHE_MB changes the limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from blockscope import knobs, settings
from blockscope.runtime import private_folder
from blockscope.runtime.cache import build_id

_SUFFIX = ".kernel"
_FORMAT = 1
_PUTS_PER_CLEANING = 32

_puts = 0


def is_on() -> bool:
    return bool(settings.read("BLOCKSCOPE_CACHE"))


def folder() -> Path:
    """Where the files are; it may not exist yet."""
    chosen = knobs.cache.__dict__.get("dir") or os.environ.get("TRITON_CACHE_DIR")
    if chosen:
        return Path(chosen) / "kernels"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "blockscope" / "kernels"


def limit_bytes() -> int:
    return int(settings.read("BLOCKSCOPE_CACHE_MB")) << 20


def key_of(*parts: Any) -> str:
    """The key of a kernel that depends on these parts, and on the build of Blockscope."""
    digest = hashlib.sha256(build_id().encode())
    for part in parts:
        text = part if isinstance(part, str) else repr(part)
        data = text.encode("utf-8", "surrogatepass")
        digest.update(f"\n{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def read(key: str) -> dict[str, Any] | None:
    """The kernel stored under ``key``, or None. A hit makes the file the one used last.

    What other users can change is not read, with a warning.
    """
    if not is_on() or knobs.compilation.always_compile:
        return None
    path = _path(key)
    try:
        data = private_folder.read(path)
    except private_folder.NotPrivate as error:
        _warn(error)
        return None
    except OSError:
        return None
    kernel = _unpack(data, key)
    if kernel is not None:
        with contextlib.suppress(OSError):
            os.utime(path)
    return kernel


def write(key: str, kernel: dict[str, Any]) -> None:
    """Store a kernel. A folder that cannot be written, or that other users can change, is no error:
    a warning says why the kernel is not kept.
    """
    global _puts
    if not is_on():
        return
    path = _path(key)
    try:
        private_folder.make(path.parent)
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".partial-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_pack(key, kernel))
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise
    except OSError as error:
        _warn(error)
        return
    _puts += 1
    if _puts % _PUTS_PER_CLEANING == 1:
        clean()


def clean() -> None:
    """Remove the files that were used longest ago until the rest fits the limit."""
    files: list[tuple[float, int, str]] = []
    with contextlib.suppress(OSError):
        for sub in os.scandir(folder()):
            for entry in os.scandir(sub.path) if sub.is_dir() else ():
                with contextlib.suppress(OSError):  # another process may have removed it
                    status = entry.stat()
                    files.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    limit = limit_bytes()
    for _, size, path in sorted(files):
        if total <= limit:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size


def _warn(error: Exception) -> None:
    private_folder.warn_once("compiled kernels are not kept", error)


def _path(key: str) -> Path:
    return folder() / key[:2] / (key[2:] + _SUFFIX)


def _pack(key: str, kernel: dict[str, Any]) -> bytes:
    binary = {name: value for name, value in kernel.items() if isinstance(value, bytes)}
    rest = {name: value for name, value in kernel.items() if not isinstance(value, bytes)}
    body = json.dumps(rest).encode() + b"".join(binary.values())
    head = {
        "format": _FORMAT,
        "key": key,
        "sha256": hashlib.sha256(body).hexdigest(),
        "json": len(body) - sum(map(len, binary.values())),
        "parts": {name: len(value) for name, value in binary.items()},
    }
    return json.dumps(head).encode() + b"\n" + body


def _unpack(data: bytes, key: str) -> dict[str, Any] | None:
    line, _, body = data.partition(b"\n")
    try:
        head = json.loads(line)
        if head["format"] != _FORMAT or head["key"] != key:
            return None
        if hashlib.sha256(body).hexdigest() != head["sha256"]:
            return None
        kernel = json.loads(body[: head["json"]])
        position = head["json"]
        for name, size in head["parts"].items():
            kernel[name] = body[position : position + size]
            position += size
    except (ValueError, KeyError, TypeError):
        return None
    return kernel
