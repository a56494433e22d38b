"""A lock for what may be held long: over a launch, or while a module is loaded."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from blockscope import _core

_POLL_S = 0.1


class ProcessLock:
    """A lock for ``with``, which its thread may take again.

    A forked child finds it free, unless the thread that forked holds it: no other thread is there.
    At the end of the process its holder may be parked for ever (python_lock.h); then who waits for
    it is parked as well.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> ProcessLock:
        while not self._lock.acquire(timeout=_POLL_S):
            _core.park_if_python_is_ending()
        return self

    def __exit__(self, *_: Any) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Free the lock of a thread that the fork has left behind."""
        if not self._lock._is_owned():  # type: ignore[attr-defined]
            self._lock = threading.RLock()


_locks: weakref.WeakSet[ProcessLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in _locks:
        lock.renew()


os.register_at_fork(after_in_child=_renew_all)
