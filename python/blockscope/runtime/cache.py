"""Files kept between runs, one folder for each key, under the names of ``triton.runtime.cache``."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from blockscope import _core, knobs
from blockscope.runtime import private_folder


def default_cache_dir() -> str:
    return knobs.cache.get_triton_dir("cache")


def default_override_dir() -> str:
    return knobs.cache.get_triton_dir("override")


def default_dump_dir() -> str:
    return knobs.cache.get_triton_dir("dump")


@functools.cache
def build_id() -> str:
    """A hash of the compiled part of Blockscope, which holds the compiler."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def triton_key() -> str:
    """What a cache entry must depend on besides its source: the build of Blockscope."""
    return f"blockscope-{_core.__version__}-{build_id()}"


class CacheManager(ABC):
    """Stores and finds the files of one key."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key

    @abstractmethod
    def get_file(self, filename: str) -> str | None: ...

    @abstractmethod
    def put(self, data: bytes | str, filename: str, binary: bool = True) -> str: ...

    @abstractmethod
    def get_group(self, filename: str) -> dict[str, str] | None: ...

    @abstractmethod
    def put_group(self, filename: str, group: dict[str, str]) -> str: ...


class FileCacheManager(CacheManager):
    """Files of one key in one folder; a file appears whole or not at all.

    Nothing is read from a folder, and nothing is put into one, that other users can change.
    """

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        root = knobs.cache.dump_dir if dump else knobs.cache.override_dir if override \
            else knobs.cache.dir  # fmt: skip
        self.cache_dir = os.path.join(root, key)

    def _path(self, filename: str) -> str:
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename: str) -> bool:
        return os.path.exists(self._path(filename))

    def get_file(self, filename: str) -> str | None:
        if not self.has_file(filename):
            return None
        if reason := private_folder.why_not_private(self._path(filename)):
            private_folder.warn_once(f"'{filename}' is not read from the cache", reason)
            return None
        return self._path(filename)

    def put(self, data: bytes | str, filename: str, binary: bool = True) -> str:
        payload = data if isinstance(data, bytes) else str(data).encode()
        private_folder.make(self.cache_dir)
        path = self._path(filename)
        handle, partial = tempfile.mkstemp(dir=self.cache_dir, prefix=".partial-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(payload)
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise
        return path

    def get_group(self, filename: str) -> dict[str, str] | None:
        path = self.get_file(f"__grp__{filename}")
        children = _children(path) if path else None
        if children is None:
            return None
        return children if all(map(os.path.exists, children.values())) else None

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}", binary=False)


def _children(path: str) -> Any:
    """What the file of a group names; None for a damaged one."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file).get("child_paths")
    except (OSError, ValueError, AttributeError):
        return None


class RemoteCacheBackend(ABC):
    """Base class of stores shared between machines; a user's class derives from it."""

    def __init__(self, key: str) -> None:
        self.key = key

    @abstractmethod
    def get(self, filenames: list[str]) -> dict[str, bytes]:
        """The files that are there, by name."""

    @abstractmethod
    def put(self, filename: str, data: bytes) -> None: ...


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """Files in a Redis server, which ``knobs.cache.redis`` names. Needs the package ``redis``."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        import redis

        settings = knobs.cache.redis
        self._format = settings.key_format
        self._server = redis.Redis(host=settings.host, port=settings.port)

    def _name(self, filename: str) -> str:
        return str(self._format.format(key=self.key, filename=filename))

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        found = self._server.mget([self._name(name) for name in filenames])
        pairs = zip(filenames, found, strict=True)
        return {name: data for name, data in pairs if data is not None}

    def put(self, filename: str, data: bytes) -> None:
        self._server.set(self._name(filename), data)


class RemoteCacheManager(CacheManager):
    """Files in the store of ``knobs.cache.remote_manager_class``, with local copies in the cache
    folder, whose paths it gives. Dumps and overrides are local files only.

    Errors: RuntimeError when no store is named.
    """

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        backend = knobs.cache.remote_manager_class
        if not backend:
            raise RuntimeError("RemoteCacheManager needs TRITON_REMOTE_CACHE_BACKEND=MODULE:CLASS")
        self._local = FileCacheManager(key, override=override, dump=dump)
        self._store = None if override or dump else backend(key)

    def get_file(self, filename: str) -> str | None:
        if self._store is None:
            return self._local.get_file(filename)
        data = self._store.get([filename]).get(filename)
        return None if data is None else self._local.put(data, filename)

    def put(self, data: bytes | str, filename: str, binary: bool = True) -> str:
        payload = data if isinstance(data, bytes) else str(data).encode()
        if self._store is not None:
            self._store.put(filename, payload)
        return self._local.put(payload, filename)

    def get_group(self, filename: str) -> dict[str, str] | None:
        if self._store is None:
            return self._local.get_group(filename)
        path = self.get_file(f"__grp__{filename}")
        names = _children(path) if path else None
        if names is None:
            return None
        found = self._store.get(list(names))
        if len(found) != len(names):
            return None
        return {name: self._local.put(data, name) for name, data in found.items()}

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        if self._store is None:
            return self._local.put_group(filename, group)
        return self.put(json.dumps({"child_paths": sorted(group)}), f"__grp__{filename}")


def _base32(key: str) -> str:
    """A hexadecimal key as a shorter name for a folder."""
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def get_cache_manager(key: str) -> CacheManager:
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key))


def get_override_manager(key: str) -> CacheManager:
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), override=True)


def get_dump_manager(key: str) -> CacheManager:
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), dump=True)
