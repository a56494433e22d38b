"""The scheduler of step mode: one program runs at a time; one that spins lets the others run.

A program runs on the thread that launched the kernel. Only when one spins does the next one get a
thread of its own, so pdb sees one thread unless programs wait for one another.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from blockscope import _core


class StoppedByFinding(BaseException):
    """Ends a stepped launch whose finding (a deadlock, a first error) was recorded by a check."""


class _Waiting:
    """A program that lets the others run, and the state of memory that it has seen."""

    def __init__(self, progress: int | None) -> None:
        self.resumed = threading.Event()
        self.progress = progress
        self.thread = threading.current_thread()


class Scheduler:
    """Runs ``start_next`` (the next program; False when none is left) until all programs ended.

    ``note_crowd`` is called each time when ``crowd`` more programs wait, none of them can go on,
    and another one begins.
    """

    def __init__(
        self,
        start_next: Callable[[], bool],
        scope: Callable[[], Any],
        note_crowd: Callable[[], None] = lambda: None,
    ) -> None:
        self._start_next = start_next
        self._scope = scope
        self._note_crowd = note_crowd
        self.crowd: int | None = None
        self._told = 0  # programs of the last crowd
        self._waiting: deque[_Waiting] = deque()
        self._has_more = True
        self._failure: BaseException | None = None
        self._is_over = False
        self._launcher = threading.current_thread()

    def run(self) -> None:
        """Run every program; raises what the first failing one raised."""
        try:
            while self._take_next():
                pass
            while self._waiting and self._failure is None:
                self._yield_to_next()
            if self._failure is not None:
                raise self._failure
        except BaseException:
            self._end_others()
            raise

    def on_spin(self, progress: int) -> bool:
        """Called by a program that spins: others run, then it goes on. True when one began.

        ``progress`` counts the changes of memory so far.
        """
        if self._is_over:
            raise StoppedByFinding
        waiting = len(self._waiting) + 1
        is_crowd = self.crowd is not None and waiting >= self._told + self.crowd
        # The first has waited longest: when nothing has changed for it, nothing has for the others.
        may_go_on = is_crowd and self._waiting[0].progress != progress
        begins = self._has_more and not may_go_on
        if begins:
            if is_crowd:
                self._told = waiting
                self._note_crowd()
            resumed = self._enqueue(progress)
            threading.Thread(target=self._run_thread, daemon=True).start()
            self._await(resumed)
        elif self._waiting:
            self._yield_to_next(progress)
        return begins

    def _take_next(self) -> bool:
        self._has_more = self._has_more and self._start_next()
        return self._has_more and self._failure is None

    def _run_thread(self) -> None:
        try:
            with self._scope():
                self._take_next()
        except BaseException as error:
            if self._failure is None and not self._is_over:
                self._failure = error
        self._wake_first()

    def _enqueue(self, progress: int | None) -> threading.Event:
        self._waiting.append(_Waiting(progress))
        return self._waiting[-1].resumed

    def _yield_to_next(self, progress: int | None = None) -> None:
        resumed = self._enqueue(progress)
        self._wake_first()
        self._await(resumed)

    def _wake_first(self) -> None:
        if self._waiting:
            self._waiting.popleft().resumed.set()

    def _await(self, resumed: threading.Event) -> None:
        while not resumed.wait(0.1):  # short, so that Ctrl-C and the end of Python are seen
            _core.park_if_python_is_ending()
            if self._is_over:
                break
        if threading.current_thread() is self._launcher:
            if self._failure is not None:
                raise self._failure
        elif self._is_over or self._failure is not None:
            raise StoppedByFinding

    def _end_others(self) -> None:
        """End the programs that wait, which hold what the launch uses.

        One that runs, after Ctrl-C in the launching thread, ends when it next spins.
        """
        self._is_over = True
        waiting = [each for each in self._waiting if each.thread is not self._launcher]
        self._waiting.clear()
        for each in waiting:
            each.resumed.set()
        for each in waiting:
            each.thread.join()
        self._failure = None  # its traceback holds this scheduler
