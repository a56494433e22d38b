"""Checked and traced runs: what is active, and the report that a check leaves.

``check`` and ``trace`` open a session; every launch of the process goes through the sessions that
are open. The sessions themselves are C++ objects; here is only what Python users see of them.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import Any

from blockscope import allow_comments, finding_codes
from blockscope import baseline as baselines
from blockscope.baseline import Baseline
from blockscope.errors import LaunchError, SanitizerError, StoppedAtFirst
from blockscope.process_lock import ProcessLock
from blockscope.torch_memory import unwatched as torch_unwatched
from blockscope.torch_memory import watching as watching_torch

DEFAULT_CHECKS = "asan,tsan"
SEVERITIES = ("error", "warning", "note", "off")
NOT_NEEDED = " is not needed: no launch has this finding"
GONE = " no longer occurs"
_MOST_WRITTEN = 10_000  # findings of a run that writes a baseline

_sessions: tuple[Any, ...] = ()
_one_launch = ProcessLock()
#: What commands put around each launch that is watched, to show how far it is.
around_launch: Callable[[], AbstractContextManager[None]] = nullcontext


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
        with around_launch():
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
    """All sanitizers: ``name`` (empty: part of every check, without a name of its own), ``alias``
    (another name, or empty), ``help``, ``codes`` of its findings, ``options`` (``name``,
    ``choices``, the first one being the default, and ``help``), ``in_every_check``, ``is_report``
    (``all`` leaves it out), and what it ``needs`` of a run."""
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


def codes_of(checks: Iterable[str]) -> set[str]:
    """The codes that some checks can find, with those that are in every check."""
    named = set(checks)
    return {
        code
        for row in table()
        if row["in_every_check"] or not named.isdisjoint((row["name"], row["alias"]))
        for code in row["codes"]
    }


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


def parse_severity(severity: Mapping[str, str]) -> dict[str, str]:
    """Severities by code. Errors: ValueError for an unknown one, TypeError for what is no table."""
    if not isinstance(severity, Mapping):
        raise TypeError(
            f"'severity' is {severity!r}, expected a table such as {{'oob-load': 'warning'}}"
        )
    for code, wanted in severity.items():
        if problem := finding_codes.problem_of(code):
            raise ValueError(problem)
        if wanted not in SEVERITIES:
            raise ValueError(
                f"the severity of '{code}' is {wanted!r}, expected {', '.join(SEVERITIES[:-1])} or "
                f"{SEVERITIES[-1]}"
            )
    return dict(severity)


class Finding:
    """One finding: the fields of the C++ struct as attributes; ``data`` has them all.

    ``text`` is its part of the report, ``child`` the process, where another one has found it, and
    ``allowed`` why it may be there, where somebody says so; ``is_known``: a baseline has it.
    """

    def __init__(
        self,
        data: dict[str, Any],
        text: str = "",
        child: int | None = None,
        allowed: str = "",
        is_known: bool = False,
    ) -> None:
        self.data = data
        self._text = text
        self.child = child
        self.allowed = allowed
        self.is_known = is_known

    @property
    def text(self) -> str:
        if not self._text:
            from blockscope import _core

            self._text = _core.finding_text(self.data).rstrip("\n")
        return self._text

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "data" or name not in self.data:
            raise AttributeError(f"finding has no field '{name}'")
        return self.data[name]

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def __contains__(self, name: str) -> bool:
        return name in self.data

    def get(self, name: str, default: Any = None) -> Any:
        return self.data.get(name, default)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.data]

    def __repr__(self) -> str:
        place = f"{self.get('file', '?')}:{self.get('line', '?')}"
        return f"<finding {self.get('code', '?')} at {place}>"


class CheckReport:
    """The findings of a checked run; grows while the run goes on."""

    def __init__(
        self, checks: list[str], options: dict[str, Any], baseline: Baseline | None = None
    ) -> None:
        from blockscope import _core

        self.checks = checks
        self.baseline = baseline
        self.options = options
        self.handle = _core.CheckSession(options)
        self.stops_at_first = options["stop_at_first"]
        self.launches = 0  # so many were watched
        # File, first and last line, name of those that were launched.
        self.kernels: set[tuple[str, int, int, str]] = set()
        self.launches_of_copies = 0  # whose tensors are on a GPU, and were copied
        self.autotuned: set[Any] = set()  # kernels, with keys, all of whose configurations have run
        self.is_in_child = False
        self._of_parents: list[Any] = []
        self._told = 0  # findings that the parent was told of, in a child
        self._raised = 0  # errors, in a child
        self.known_in_children: list[Finding] = []  # that the baseline has
        self.is_cut_off = False  # the script ended early: it says nothing of what it did not reach
        self.before_launch: Callable[[], None] = lambda: None

    def attach(self, launch: Any) -> None:
        """Let the session watch a launch that is about to run."""
        self.launches += 1
        self.before_launch()
        self.handle.attach(launch)

    @property
    def findings(self) -> list[Finding]:
        """Those that no comment in the kernel allows, and no baseline has."""
        return [finding for finding in self.all_findings() if not finding.allowed]

    @property
    def allowed(self) -> list[Finding]:
        """Those that a comment allows or a baseline has, each with its reason as ``allowed``."""
        return [finding for finding in self.all_findings() if finding.allowed]

    def all_findings(self) -> list[Finding]:
        """Those that a comment or a baseline allows, too, with its reason as ``allowed``."""
        found = [Finding(data, text.rstrip("\n")) for data, text in self.handle.described()]
        if not self.stops_at_first:  # such a check ends at an error, whoever allows it
            for finding in found:
                finding.allowed = allow_comments.reason_for(
                    finding.file, finding.line, finding.code
                )
                if self.baseline is not None and not finding.allowed:
                    finding.allowed = self.baseline.reason_for(finding.data)
                    finding.is_known = bool(finding.allowed)
        return found

    @property
    def error_count(self) -> int:
        """Findings of error severity, repeats not counted."""
        count = self.handle.error_count()
        return count and count - sum(each.severity == "error" for each in self.allowed)

    @property
    def clean(self) -> bool:
        return not self.findings

    def text(self, color: bool = False) -> str:
        """All findings for people to read, and what a baseline and comments that allow some have
        to do with them."""
        found = self.all_findings()
        allowed = [each for each in found if each.allowed]
        left_out = [(each.code, each.file, each.line, each.get("kernel", "")) for each in allowed]
        lines = [self.handle.report_text(color, left_out)]
        if self.baseline is not None and (known := sum(each.is_known for each in allowed)):
            is_clean = len(allowed) == len(found)
            head, more = ("no new findings", "") if is_clean else (lines[0], " more")
            are = "are" if known > 1 else "is"
            lines[0] = f"{head}; {known}{more} {are} in {self.baseline.name()}"
        for each in allowed:
            if not each.is_known:
                lines.append(f"allowed: {each.text.partition(chr(10))[0]}; because {each.allowed}")
        return "\n".join([*lines, *self.said_of_comments(), *self.said_of_baseline()])

    def json(self) -> str:
        """All findings as a JSON document."""
        if not self.allowed:
            return self.handle.report_json()
        return json.dumps([finding.data for finding in self.findings], indent=2)

    def comments(self) -> dict[str, bool]:
        """The comments of kernels that were launched, each with a code that it allows, and whether
        there was such a finding. Codes that these checks do not find are left out."""
        codes = self.codes()
        allowed = self.allowed
        found = {}
        for comment in self._comments():
            for code in codes.intersection(() if comment.problem else comment.codes):
                key = f"{comment.place()}: '# blockscope: allow {code}'"
                found[key] = any(
                    each.code == code
                    and each.file == comment.file
                    and allow_comments.is_for(comment, each.line)
                    for each in allowed
                )
        return found

    def codes(self) -> set[str]:
        """What these checks can find, and is not switched off."""
        severity = self.options.get("severity", {})
        return {code for code in codes_of(self.checks) if severity.get(code) != "off"}

    def uses_of_baseline(self) -> dict[str, bool]:
        """The entries of the baseline that these launches say something of, each with whether it
        still occurs."""
        if self.baseline is None or self.stops_at_first:
            return {}
        found = [e.data for e in (*self.allowed, *self.known_in_children) if e.is_known]
        kernels = {(file, name) for file, _, _, name in self.kernels}
        return self.baseline.uses(found, kernels, self.codes())

    def said_of_baseline(self) -> list[str]:
        """A line for each entry of the baseline that no longer occurs."""
        if self.is_in_child or self.is_cut_off:
            return []
        return [f"{key}{GONE}" for key, occurs in self.uses_of_baseline().items() if not occurs]

    def wrong_comments(self) -> list[str]:
        """A line for each comment in these kernels that is none that is understood."""
        return [
            f"{comment.place()}: this comment allows nothing: {comment.problem}"
            for comment in self._comments()
            if comment.problem
        ]

    def said_of_comments(self) -> list[str]:
        """A line for each comment that allows nothing: it is not understood, or not needed."""
        unused = [key for key, is_needed in self.comments().items() if not is_needed]
        return [*self.wrong_comments(), *(f"{key}{NOT_NEEDED}" for key in unused)]

    def _comments(self) -> list[allow_comments.Comment]:
        found = [each for kernel in self.kernels for each in allow_comments.within(*kernel[:3])]
        return sorted(set(found), key=lambda comment: (comment.file, comment.line))

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
        found = len(self.all_findings())
        if found > self._told:
            self._told = found
            _tell_parent(self)
        if self.error_count > self._raised:
            self._raised = self.error_count
            self.raise_on_error()

    def raise_on_error(self) -> None:
        """Raise SanitizerError with the whole report when there are errors."""
        if self.error_count:
            raise SanitizerError(self.text(), self.findings)

    def _repr_html_(self) -> str:
        """In a notebook."""
        from blockscope import report_html

        facts = {"checks": ", ".join(self.checks), "launches": str(self.launches)}
        said = [*self.said_of_comments(), *self.said_of_baseline()]
        if not self.launches:
            said.append("no kernel was launched: nothing was checked")
        is_checked = self.launches > 0
        return report_html.fragment(
            report_html.Run(
                self.findings, self.allowed, facts=facts, said=said, is_checked=is_checked
            )
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In IPython on a terminal."""
        printer.text(self.text())

    def __bool__(self) -> bool:
        """True when there are findings."""
        return not self.clean

    def __len__(self) -> int:
        return len(self.findings)

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
#: the options of the check, and where the files with what they find begin.
CHILDREN = "_BLOCKSCOPE_CHECKS_OF_PARENT"

_sessions_with_children = itertools.count()


def _tell_parent(report: CheckReport) -> None:
    """Leave the report of this process where the command looks for it."""
    if text := os.environ.get(CHILDREN):
        path = f"{json.loads(text)['files']}{os.getpid()}.json"
        said = {
            "errors": report.error_count,
            "text": report.text(),
            "findings": [(finding.data, finding.text) for finding in report.findings],
            "known": [(f.data, f.text, f.allowed) for f in report.allowed if f.is_known],
        }
        with suppress(OSError), open(path + ".partial", "w", encoding="utf-8") as file:
            json.dump(said, file)
            file.flush()
            os.replace(path + ".partial", path)


@contextmanager
def checked_children(
    report: CheckReport, folder: str | None = None
) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Inside, processes that are started check their launches as ``report`` does. Gives a function
    that says what they have found: for each ``pid``, ``errors``, ``text``, ``findings``, and the
    findings that are ``known``.

    What they say lies in ``folder``, or in one of its own: to make many costs time.
    """
    with ExitStack() as stack:
        if folder is None:
            own = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            folder = stack.enter_context(own)
        prefix = f"{next(_sessions_with_children)}-"
        files = os.path.join(folder, prefix)
        message: dict[str, Any] = {"pid": os.getpid(), "files": files, "options": report.options}
        if report.baseline is not None:
            message["baseline"] = [report.baseline.path, report.baseline.accepts_all]

        def found() -> list[dict[str, Any]]:
            reports: list[dict[str, Any]] = []
            if not os.path.isdir(folder):  # a child that ended as its parent does has removed it
                return reports
            for name in sorted(os.listdir(folder)):
                if name.startswith(prefix) and name.endswith(".json"):
                    pid = int(name[len(prefix) : -5])
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        said = json.load(file)
                    findings = [Finding(data, text, pid) for data, text in said["findings"]]
                    known = [
                        Finding(data, text, pid, allowed, is_known=True)
                        for data, text, allowed in said["known"]
                    ]
                    reports.append({**said, "pid": pid, "findings": findings, "known": known})
            return reports

        outer = os.environ.get(CHILDREN)
        os.environ[CHILDREN] = json.dumps(message)
        try:
            yield found
        finally:
            os.environ.pop(CHILDREN, None)
            if outer is not None:
                os.environ[CHILDREN] = outer


def _check_for_parent() -> None:
    """In a process that a checked script has started: check here too, until it ends."""
    message = json.loads(os.environ[CHILDREN])
    if message["pid"] == os.getpid():
        return
    known = None
    if "baseline" in message:
        path, accepts_all = message["baseline"]
        known = baselines.read(path, accepts_all=accepts_all)
    report = CheckReport(message["options"]["checks"], message["options"], known)
    report.is_in_child = True
    _set_sessions((report,))


@contextmanager
def check(
    checks: str | Sequence[str] = DEFAULT_CHECKS,
    *,
    max_findings: int = 100,
    stop_at_first: bool = False,
    baseline: str | os.PathLike[str] | Baseline | None = None,
    severity: Mapping[str, str] | None = None,
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

    What a ``baseline`` has (docs/ci.md) is no finding, unless the check stops at its first error;
    ``severity`` gives codes another one: ``{"oob-load": "warning", "integer-wrap": "off"}``.

    Other options are those of the checks: ``bounds="storage"`` (asan) allows accesses outside an
    argument's view but inside its storage. ``blockscope check --help`` lists them.

    Some checks watch torch as well: its ops on the thread that opens the block.
    """
    names = parse_checks(checks)
    if not isinstance(max_findings, int) or max_findings < 1:
        raise ValueError(f"max_findings is {max_findings!r}, expected a whole number of at least 1")
    known = baseline
    if known is not None and not isinstance(known, Baseline):
        known = baselines.read(known)
    if known is not None:  # what it has shall not push out what is new
        max_findings += _MOST_WRITTEN if known.accepts_all else len(known.entries)
    chosen = {
        "checks": names,
        "max_findings": max_findings,
        "stop_at_first": bool(stop_at_first),
        "severity": parse_severity(severity or {}),
        **{name: _choice(value) for name, value in options.items()},
    }
    report = CheckReport(names, chosen, known)
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

    def __init__(self, path: str, *, values: bool = False) -> None:
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
        self.handle = _core.TraceSession(self._written, values=values)

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
def trace(path: str | os.PathLike[str], *, values: bool = False) -> Iterator[TraceRecording]:
    """Record every launch inside the ``with`` block into an HDF5 file.

    Errors: OSError when the file cannot be written.

    With ``values`` the file has what the first 2^20 elements that a launch accesses were before
    and after each access; programs then run one after another.

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
    recording = TraceRecording(file, values=bool(values))
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
