"""One line at the bottom of a terminal that says how far a long run is; nothing on a pipe."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from blockscope import checks
from blockscope.process_lock import ProcessLock

_EVERY = 0.2  # seconds
_PATIENCE = 1.0  # seconds that pass before a launch is shown


class ProgressLine:
    """Draws over itself, from ``begin`` seconds on: short runs stay silent."""

    def __init__(self, stream: TextIO | None = None, begin: float = 1.0) -> None:
        self._stream = sys.stderr if stream is None else stream
        is_terminal = self._stream is not None and self._stream.isatty()
        self.is_shown = is_terminal and os.environ.get("TERM") != "dumb"
        self._next = time.monotonic() + begin
        self._has_line = False

    def show(self, text: str) -> None:
        """Draw the text, unless one was drawn a moment ago."""
        now = time.monotonic()
        if not self.is_shown or now < self._next:
            return
        self._next = now + _EVERY
        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r\x1b[K{text[:width]}")
        self._has_line = True

    def clear(self) -> None:
        if self._has_line:
            self._write("\r\x1b[K")
            self._has_line = False

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self.is_shown = False


def duration(seconds: float) -> str:
    """ "8 s", "3 min 20 s", "2 h 5 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def shown_launches(report: Any) -> Iterator[None]:
    """Inside, launches that ``report`` watches for more than a second show how far they are, and
    what was found so far. The line is gone before the script goes on: it may print."""
    line = ProgressLine(begin=0)
    if not line.is_shown:
        yield
        return
    shown = _LaunchProgress(line, report)
    before = checks.around_launch
    checks.around_launch = shown.around
    try:
        yield
    finally:
        checks.around_launch = before
        shown.end()


class _LaunchProgress:
    """A thread draws while the one that launches waits."""

    def __init__(self, line: ProgressLine, report: Any) -> None:
        self._line, self._report = line, report
        self._lock = ProcessLock()
        self._has_ended = threading.Event()
        self._begin: float | None = None  # of the launch that runs
        self._number = -1  # of the launch that runs, as reports count
        self._thread: threading.Thread | None = None

    @contextmanager
    def around(self) -> Iterator[None]:
        with self._lock:
            self._number += 1
            self._begin = time.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._draw, daemon=True)
            self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._begin = None
                self._line.clear()

    def end(self) -> None:
        self._has_ended.set()
        if self._thread is not None:
            self._thread.join(1.0)

    def _draw(self) -> None:
        while not self._has_ended.wait(_EVERY):
            with self._lock:
                spent = time.monotonic() - self._begin if self._begin is not None else 0.0
                if spent > _PATIENCE:
                    self._line.show(self._text(spent))

    def _text(self, spent: float) -> str:
        from blockscope import _core

        begun, programs = _core.progress_of_launch()
        rate = begun / spent
        words = [f"launch {self._number}: {begun} of {programs} programs"]
        if 0 < begun < programs:
            words += [f"{rate:.0f}/s", f"{duration((programs - begun) / rate)} left"]
        found = self._report.handle.error_count()
        return ", ".join([*words, f"{found} error{'s' if found != 1 else ''} so far"])
