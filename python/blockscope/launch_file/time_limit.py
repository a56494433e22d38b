"""A limit of time for one launch."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


class TooLate(BaseException):
    """A launch took longer than it may. No ``Exception``: what it interrupts catches those."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Ends what is inside after so many seconds. For the main thread of a process.

    Errors: TooLate.
    """

    def stop(*_: Any) -> None:
        raise TooLate(f"the launch takes longer than {seconds:.1f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
