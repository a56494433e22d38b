"""Locks that outlive a fork and the end of the process."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

_POLL_S = 0.1
_LONGEST_WAIT_S = 10.0  # of a fork for modules to be loaded


class ProcessLock:
    """A lock for ``with`` that may be held over a launch. Its thread may take it again.

    A forked child finds it free, unless the thread that forked holds it: no other thread is there.
    At the end of the process its holder may be parked for ever (python_lock.h); then who waits for
    it is parked as well.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> ProcessLock:
        while not self._lock.acquire(timeout=_POLL_S):
            from blockscope import _core  # late: a slow import that few programs need here

            _core.park_if_python_is_ending()
        return self

    def __exit__(self, *_: Any) -> None:
        self._lock.release()

    def is_held(self) -> bool:
        """Whether this thread holds it."""
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]

    def hold_for_fork(self) -> None:
        """Take it before a fork, so that no child finds its work half done."""
        self._lock.acquire(timeout=_LONGEST_WAIT_S)

    def release_after_fork(self) -> None:
        if self.is_held():
            self._lock.release()

    def renew(self) -> None:
        """Free the lock of a thread that the fork has left behind."""
        if not self.is_held():
            self._lock = threading.RLock()


_locks: weakref.WeakSet[ProcessLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in _locks:
        lock.renew()


# Held while launches, and attributes of the package, load modules. A child cannot import what
# another thread was importing at the fork: Python's lock of that module stays taken.
loading = ProcessLock()

os.register_at_fork(
    before=loading.hold_for_fork,
    after_in_parent=loading.release_after_fork,
    after_in_child=loading.release_after_fork,
)
os.register_at_fork(after_in_child=_renew_all)
