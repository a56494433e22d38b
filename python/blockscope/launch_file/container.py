"""The file itself: a zip archive of ``launches.json`` and of bytes under their SHA-256.

A file of a stranger is read with every size held to what is there before memory is taken for it.
Nothing is unpacked to the disk, so names in the archive become no paths.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import struct
import threading
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from blockscope.errors import LaunchFileError
from blockscope.launch_file.fields import Field

FORMAT, VERSION = "blockscope-launches", 1
_HEAD = "launches.json"
_DATA = re.compile(r"data/[0-9a-f]{64}")
_HEAD_BYTES = 32 << 20
_MOST_KEPT = 1 << 30
#: Deflate makes at most so many bytes of one.
_MOST_INFLATED = 1032
_SAMPLE, _WORTH_IT = 1 << 16, 0.8  # what shrinks by less is not packed: random floats take long
_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, ValueError,
    NotImplementedError, RuntimeError, OverflowError, IndexError, KeyError, MemoryError,
)  # fmt: skip


def memory_limit() -> int:
    """How much a file may ask for: two thirds of the machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 2 // 3
    except (ValueError, OSError):
        return 8 << 30


class Writer:
    """Writes a file. While it is written it is called ``path.partial``."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        self._partial = f"{self._path}.partial"
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._archive = zipfile.ZipFile(self._partial, "w", allowZip64=True)

    def add(self, data: bytes | memoryview) -> str:
        """Keep some bytes once; gives the name that they have in ``launches.json``."""
        name = digest_of(data)
        with self._lock:
            if name not in self._known:
                self._known.add(name)
                self._write(f"data/{name}", data)
        return name

    def _write(self, name: str, data: bytes | memoryview) -> None:
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        sample = bytes(data[:_SAMPLE])
        shrinks = len(zlib.compress(sample, 1)) < _WORTH_IT * len(sample)
        kind = zipfile.ZIP_DEFLATED if shrinks else zipfile.ZIP_STORED
        self._archive.writestr(info, data, kind, compresslevel=1)

    def close(self, head: dict[str, Any]) -> int:
        """End the file, and put it in its place; gives its bytes.

        Errors: LaunchFileError where there is too much to say of the launches.
        """
        text = json.dumps({"format": FORMAT, "version": VERSION, **head}, allow_nan=False).encode()
        if len(text) > _HEAD_BYTES:
            self.give_up()
            raise LaunchFileError(
                f"what is to be said of the launches has {len(text)} bytes, of at most "
                f"{_HEAD_BYTES}: record fewer launches (--limit)"
            )
        with self._lock:
            self._write(_HEAD, text)
            self._archive.close()
            size = os.path.getsize(self._partial)
            os.replace(self._partial, self._path)
        return size

    def give_up(self) -> None:
        """Leave no file."""
        with self._lock:
            self._archive.close()
            with suppress(FileNotFoundError):
                os.unlink(self._partial)


class Reader:
    """Reads a file. Errors: LaunchFileError, also of the methods."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._latest: dict[str, bytes] = {}  # what was read last, oldest first
        try:
            self._archive = zipfile.ZipFile(path)
        except OSError as error:
            raise LaunchFileError(f"'{path}' cannot be read: {error.strerror}") from None
        except _BROKEN as error:
            raise LaunchFileError(
                f"'{path}' is no launch file, or was cut short ({error}); expected what "
                "'blockscope record FILE.py -o run.blk' writes"
            ) from None
        try:
            self._members = self._checked()
        except BaseException:
            self.close()
            raise

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        members: dict[str, zipfile.ZipInfo] = {}
        on_disk = os.path.getsize(self.path)
        inflated = 0
        for info in self._archive.infolist():
            name = info.filename
            if name != _HEAD and not _DATA.fullmatch(name):
                raise self._damaged(
                    f"it has a part {name[:80]!r}, expected {_HEAD} and data/SHA256"
                )
            if name in members:
                raise self._damaged(f"it has two parts '{name}'")
            if info.flag_bits & 1 or info.compress_type not in (
                zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED,
            ):  # fmt: skip
                raise self._damaged(f"'{name}' is encrypted or packed in another way than deflate")
            is_stored = info.compress_type == zipfile.ZIP_STORED
            most = info.compress_size * (1 if is_stored else _MOST_INFLATED) + 64 * (not is_stored)
            if info.compress_size > on_disk or info.file_size > most:
                raise self._damaged(
                    f"'{name}' claims {info.file_size} bytes, which its {info.compress_size} in "
                    "the file cannot hold"
                )
            inflated += info.file_size
            members[name] = info
        if inflated > memory_limit():
            raise LaunchFileError(
                f"'{self.path}' holds {inflated} bytes; at most two thirds of this machine's "
                f"memory are read, {memory_limit()} bytes"
            )
        if _HEAD not in members:
            raise LaunchFileError(f"'{self.path}' is a zip file without {_HEAD}: no launch file")
        if members[_HEAD].file_size > _HEAD_BYTES:
            raise self._damaged(
                f"{_HEAD} has {members[_HEAD].file_size} bytes, expected at most {_HEAD_BYTES}"
            )
        return members

    def _damaged(self, what: str) -> LaunchFileError:
        return LaunchFileError(f"'{self.path}' is damaged: {what}")

    def head(self) -> Field:
        """``launches.json``. Errors: also for a later version of the format."""
        try:
            value = json.loads(self._read(_HEAD).decode())
        except (ValueError, RecursionError) as error:
            raise self._damaged(f"{_HEAD} is no JSON that can be read: {error}") from None
        head = Field(self.path, _HEAD, value)
        if (found := head["format"].text()) != FORMAT:
            raise LaunchFileError(f"'{self.path}' has format '{found[:40]}', expected '{FORMAT}'")
        version = head["version"].number(1, 2**31)
        if version > VERSION:
            raise LaunchFileError(
                f"'{self.path}' has version {version} of the format, this Blockscope reads up to "
                f"{VERSION}: a later one wrote it"
            )
        return head

    def size_of(self, name: Field) -> int:
        """The bytes that are kept under a name."""
        return self._member(name).file_size

    def data(self, name: Field) -> bytes:
        """What is kept under a name."""
        known = self._latest.pop(name.text(), None)
        if known is not None:
            self._latest[name.text()] = known
            return known
        data = self._read(self._member(name).filename)
        if digest_of(data) != name.value:
            raise self._damaged(f"the bytes data/{name.value} are not those of this SHA-256")
        self._latest[name.text()] = data
        while sum(map(len, self._latest.values())) > _MOST_KEPT and len(self._latest) > 1:
            self._latest.pop(next(iter(self._latest)))
        return data

    def _member(self, name: Field) -> zipfile.ZipInfo:
        member = self._members.get(f"data/{name.text()}")
        if member is None:
            raise name.wrong("the SHA-256 of bytes that the file has")
        return member

    def _read(self, name: str) -> bytes:
        info = self._members[name]
        try:
            with self._archive.open(info) as member:
                data = member.read(info.file_size + 1)
        except OSError as error:
            raise self._damaged(f"'{name}' cannot be read: {error}") from None
        except _BROKEN as error:
            raise self._damaged(f"'{name}' cannot be unpacked: {error}") from None
        if len(data) != info.file_size:
            raise self._damaged(
                f"'{name}' has {len(data)} bytes or more, expected {info.file_size}"
            )
        return data

    def close(self) -> None:
        self._archive.close()


@contextmanager
def opened(path: str) -> Iterator[Reader]:
    reader = Reader(path)
    try:
        yield reader
    finally:
        reader.close()


def are_equal(one: bytes | memoryview, other: bytes | memoryview) -> bool:
    """Whether bytes are the same: many times as fast as to hash them."""
    if len(one) != len(other) or not len(one):
        return len(one) == len(other)
    places = [np.frombuffer(each, np.uint8).ctypes.data for each in (one, other)]
    compare: Any = ctypes.CDLL(None).memcmp
    compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    return bool(compare(*places, len(one)) == 0)


def digest_of(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()
