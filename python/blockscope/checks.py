"""Checked and traced runs: what is active, and the report that a check leaves.

``check`` and ``trace`` open a session; every launch of the process goes through the sessions that
are open. The sessions themselves are C++ objects; here is only what Python users see of them.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from blockscope.errors import LaunchError, SanitizerError, StoppedAtFirst
from blockscope.process_lock import ProcessLock
from blockscope.torch_memory import unwatched as torch_unwatched
from blockscope.torch_memory import watching as watching_torch

DEFAULT_CHECKS = "asan,tsan"

_sessions: tuple[Any, ...] = ()
_one_launch = ProcessLock()


def active() -> tuple[Any, ...]:
    """The open sessions, outermost first; a launch is given to ``attach`` of each."""
    return _sessions


@contextmanager
def watching() -> Iterator[tuple[Any, ...]]:
    """Gives the open sessions for one launch.

    A session follows one launch at a time: while one is open, launches of other threads wait, and
    it is not closed during a launch.
    """
    if not _sessions:
        yield ()
        return
    with _one_launch:
        sessions = _sessions
        stopping = [s for s in sessions if isinstance(s, CheckReport)]
        for session in stopping:  # nothing runs on, not even where the script catches the error
            session.refuse_if_stopped()
        yield sessions
        for session in stopping:
            session.raise_if_stopped()
            session.report_in_child()


@contextmanager
def unwatched() -> Iterator[None]:
    """No open session watches what is launched inside the block, or what torch does there; for a
    thread with the lock."""
    sessions = _sessions
    _set_sessions(())
    try:
        with torch_unwatched():
            yield
    finally:
        _set_sessions(sessions)


def one_launch() -> ProcessLock:
    """Held, no other thread launches while a session is open."""
    return _one_launch


def table() -> list[dict[str, Any]]:
    """All sanitizers: ``name`` (empty: part of every check, without a name of its own), ``help``,
    ``codes`` of its findings, ``options`` (``name``, ``choices``, the first one being the default,
    and ``help``), ``in_every_check``, ``is_report`` (``all`` leaves it out), and what it
    ``needs`` of a run."""
    from blockscope import _core

    return _core.sanitizers()


def __getattr__(name: str) -> Any:
    """``CHECKS``: the names of all checks, in alphabetical order."""
    if name == "CHECKS":
        return tuple(sorted(row["name"] for row in table() if row["name"]))
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def begin_watched(launch: Any) -> Any:
    """Let the open sessions watch a launch of the C++ launcher; gives what ``end_watched`` takes.

    Errors: StoppedAtFirst when a check has ended before.
    """
    watched = watching()
    sessions = watched.__enter__()
    try:
        for session in sessions:
            session.attach(launch)
    except BaseException as error:
        watched.__exit__(type(error), error, error.__traceback__)
        raise
    return watched


def end_watched(watched: Any, failed: bool) -> None:
    """After the launch. Errors: StoppedAtFirst when it has found the first error of a check."""
    error = LaunchError() if failed else None
    watched.__exit__(error and type(error), error, None)


def parse_checks(checks: str | Iterable[str]) -> list[str]:
    """The names in ``"asan,tsan"`` or in a list; ``all`` is every check but reports.

    Errors: ValueError for an unknown name, TypeError for what is no list of names.
    """
    from blockscope import _core

    is_list = isinstance(checks, Iterable) and not isinstance(checks, bytes)
    names: list[Any] = [checks]
    if is_list:
        names = checks.split(",") if isinstance(checks, str) else list(checks)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise TypeError(
            f"'checks' has {wrong[0]!r} ({type(wrong[0]).__name__}), expected names such as "
            f"'{DEFAULT_CHECKS}' or a list of them"
        )
    names = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if "all" in names:
        every = [row["name"] for row in table() if row["name"] and not row["is_report"]]
        names = [*every, *(name for name in names if name != "all" and name not in every)]
    if problem := _core.problem_of_checks(names):
        raise ValueError(problem)
    return names


class Finding:
    """One finding: the fields of the C++ struct as attributes; ``data`` has them all."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __getattr__(self, name: str) -> Any:
        if name == "data" or name not in self.data:
            raise AttributeError(f"finding has no field '{name}'")
        return self.data[name]

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.data.get(name, default)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.data]

    def __repr__(self) -> str:
        place = f"{self.get('file', '?')}:{self.get('line', '?')}"
        return f"<finding {self.get('code', '?')} at {place}>"


class CheckReport:
    """The findings of a checked run; grows while the run goes on."""

    def __init__(self, checks: list[str], options: dict[str, Any]) -> None:
        from blockscope import _core

        self.checks = checks
        self.options = options
        self.handle = _core.CheckSession(options)
        self.stops_at_first = options["stop_at_first"]
        self.launches = 0  # so many were watched
        self.autotuned: set[Any] = set()  # kernels, with keys, all of whose configurations have run
        self.is_in_child = False
        self._of_parents: list[Any] = []
        self._told = 0  # findings that the parent was told of, in a child
        self._raised = 0  # errors, in a child
        self.before_launch: Callable[[], None] = lambda: None

    def attach(self, launch: Any) -> None:
        """Let the session watch a launch that is about to run."""
        self.launches += 1
        self.before_launch()
        self.handle.attach(launch)

    @property
    def findings(self) -> list[Finding]:
        return [Finding(data) for data in self.handle.findings()]

    @property
    def error_count(self) -> int:
        """Findings of error severity, repeats not counted."""
        return self.handle.error_count()

    @property
    def clean(self) -> bool:
        return not self.handle.findings()

    def text(self, color: bool = False) -> str:
        """All findings for people to read."""
        return self.handle.report_text(color)

    def json(self) -> str:
        """All findings as a JSON document."""
        return self.handle.report_json()

    def refuse_if_stopped(self) -> None:
        """Before a launch. Errors: StoppedAtFirst when an earlier launch has ended the check."""
        if self.stops_at_first and self.error_count:
            findings = self.findings
            first = next(finding for finding in findings if finding.severity == "error")
            raise StoppedAtFirst(
                f"nothing was launched: the check stops at its first error, and ended at launch "
                f"{first.launch}, of '{first.kernel}':\n{self.text()}",
                findings,
            )

    def raise_if_stopped(self) -> None:
        """Raise StoppedAtFirst when this check ends at its first error and has found it."""
        if self.stops_at_first and self.error_count:
            raise StoppedAtFirst(self.text(), self.findings)

    def begin_anew_in_child(self) -> None:
        """In a forked child: the parent's session may be amid a launch of a thread left behind."""
        from blockscope import _core

        self._of_parents.append(self.handle)  # never destroyed
        self.handle = _core.CheckSession(self.options)
        self.is_in_child = True
        self._told = self._raised = 0

    def report_in_child(self) -> None:
        """In a child process errors are raised at their launch, since the report of the parent
        lacks them; a parent that is a command is told."""
        if not self.is_in_child:
            return
        if len(self) > self._told:
            self._told = len(self)
            _tell_parent(self)
        if self.error_count > self._raised:
            self._raised = self.error_count
            self.raise_on_error()

    def raise_on_error(self) -> None:
        """Raise SanitizerError with the whole report when there are errors."""
        if self.error_count:
            raise SanitizerError(self.text(), self.findings)

    def __bool__(self) -> bool:
        """True when there are findings."""
        return not self.clean

    def __len__(self) -> int:
        return len(self.handle.findings())

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<report of {','.join(self.checks)}: {len(self)} findings>"


@contextmanager
def _opened(session: Any) -> Iterator[None]:
    with _one_launch:
        _set_sessions((*_sessions, session))
    try:
        yield
    finally:
        with _one_launch:
            _set_sessions(tuple(other for other in _sessions if other is not session))


def _set_sessions(sessions: tuple[Any, ...]) -> None:
    global _sessions
    from blockscope import _core

    _sessions = sessions
    _core.surroundings.watch(len(sessions))


def _begin_anew_in_child() -> None:
    """A forked child checks on its own, and leaves the file of a trace to its parent."""
    if _sessions:
        _set_sessions(tuple(session for session in _sessions if isinstance(session, CheckReport)))
    for session in _sessions:
        session.begin_anew_in_child()


os.register_at_fork(after_in_child=_begin_anew_in_child)

#: What a command that checks says to the processes that its script starts, as JSON: its process,
#: the options of the check, and the folder for what they find.
CHILDREN = "_BLOCKSCOPE_CHECKS_OF_PARENT"


def _tell_parent(report: CheckReport) -> None:
    """Leave the report of this process where the command looks for it."""
    if text := os.environ.get(CHILDREN):
        path = os.path.join(json.loads(text)["folder"], f"{os.getpid()}.json")
        said = {"errors": report.error_count, "text": report.text()}
        with suppress(OSError), open(path + ".partial", "w", encoding="utf-8") as file:
            json.dump(said, file)
            file.flush()
            os.replace(path + ".partial", path)


@contextmanager
def checked_children(report: CheckReport) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Inside, processes that are started check their launches as ``report`` does. Gives a function
    that says what they have found: for each ``pid``, ``errors``, ``text``."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        message = {"pid": os.getpid(), "folder": folder, "options": report.options}

        def found() -> list[dict[str, Any]]:
            reports = []
            for name in sorted(os.listdir(folder)):
                if name.endswith(".json"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        reports.append({"pid": int(name[:-5]), **json.load(file)})
            return reports

        os.environ[CHILDREN] = json.dumps(message)
        try:
            yield found
        finally:
            os.environ.pop(CHILDREN, None)


def _check_for_parent() -> None:
    """In a process that a checked script has started: check here too, until it ends."""
    message = json.loads(os.environ[CHILDREN])
    if message["pid"] == os.getpid():
        return
    report = CheckReport(message["options"]["checks"], message["options"])
    report.is_in_child = True
    _set_sessions((report,))


@contextmanager
def check(
    checks: str | Sequence[str] = DEFAULT_CHECKS,
    *,
    max_findings: int = 100,
    stop_at_first: bool = False,
    **options: str | bool,
) -> Iterator[CheckReport]:
    """Check every launch inside the ``with`` block; gives the report.

    Errors: ValueError for an unknown check or a wrong option.

    Of ``max_findings`` causes the first ones are kept, each with the number of its repeats. With
    ``stop_at_first`` a launch ends at its first error and raises SanitizerError, and every later
    launch inside the block, of any kernel and thread, is refused with that error; programs then run
    one after another, so that it is the same error in every run. Errors in a process that is forked
    inside the block are raised there, at their launch; this report does not have them. (Commands
    that check print what they find in all processes that the script starts.)

    Other options are those of the checks: ``bounds="storage"`` (asan) allows accesses outside an
    argument's view but inside its storage. ``blockscope check --help`` lists them.

    Some checks watch torch as well: its ops on the thread that opens the block.
    """
    names = parse_checks(checks)
    if not isinstance(max_findings, int) or max_findings < 1:
        raise ValueError(f"max_findings is {max_findings!r}, expected a whole number of at least 1")
    chosen = {
        "checks": names,
        "max_findings": max_findings,
        "stop_at_first": bool(stop_at_first),
        **{name: _choice(value) for name, value in options.items()},
    }
    report = CheckReport(names, chosen)
    with ExitStack() as stack:
        stack.enter_context(_opened(report))
        if report.handle.watches_host():
            told = watching_torch(lambda: report.handle, _one_launch)
            report.before_launch = stack.enter_context(told)
        yield report


def _choice(value: Any) -> Any:
    """A switch of a check may be given as a bool."""
    return ("off", "on")[value] if isinstance(value, bool) else value


class TraceRecording:
    """A trace being written. It takes the place of ``path`` when it ends with a launch in it."""

    def __init__(self, path: str) -> None:
        from blockscope import _core

        self.path = path
        self.launches = 0  # so many were recorded
        self._owner = os.getpid()
        self._final = os.path.realpath(path)
        # A device such as /dev/null, or a file in a folder of others, is written in place.
        is_replaced = os.access(os.path.dirname(self._final), os.W_OK) and (
            os.path.isfile(self._final) or not os.path.exists(self._final)
        )
        self._written = f"{self._final}.partial" if is_replaced else self._final
        self.handle = _core.TraceSession(self._written)

    def attach(self, launch: Any) -> None:
        """Let the session record a launch that is about to run."""
        self.launches += 1
        self.handle.attach(launch)

    def close(self) -> None:
        """End the file. Errors: OSError when it could not be written whole; it is then removed."""
        is_kept = False
        try:
            self.handle.close()
            is_kept = self.launches > 0
        finally:
            if self._written != self._final and os.getpid() == self._owner:
                if is_kept:
                    os.replace(self._written, self._final)
                else:
                    with suppress(FileNotFoundError):
                        os.unlink(self._written)


@contextmanager
def trace(path: str | os.PathLike[str]) -> Iterator[TraceRecording]:
    """Record every launch inside the ``with`` block into an HDF5 file.

    Errors: OSError when the file cannot be written.

    While it is recorded the file is called ``path.partial``. What ``path`` held before stays when
    nothing is launched. The findings of the checks that are active around the block are recorded
    too.
    """
    file = os.fsdecode(path)
    folder = os.path.dirname(os.path.abspath(file))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"trace '{file}' cannot be written: there is no folder '{folder}'")
    if os.path.isdir(file):
        raise IsADirectoryError(f"trace '{file}' cannot be written: it is a folder")
    if not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise PermissionError(f"trace '{file}' cannot be written: no permission")
    recording = TraceRecording(file)
    try:
        with _opened(recording):
            yield recording
    finally:
        for session in active():
            if isinstance(session, CheckReport):
                recording.handle.add_findings(session.handle)
        recording.close()


if CHILDREN in os.environ:
    _check_for_parent()
