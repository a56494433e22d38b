"""``blockscope check --watch``: checks a script again whenever it, or what it imports, is saved.

Each run is a process of its own, which says what it has found and which files it has read; this
one shows that, no more than the terminal has lines.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from blockscope.cli import report_formats
from blockscope.cli.before_run import chosen_checks, own_project, wants_color
from blockscope.cli.check import baseline_of, checked
from blockscope.cli.own_process import python_words
from blockscope.cli.script import Script
from blockscope.cli.usage import UsageError
from blockscope.users_files import users_files

_POLL_S = 0.2
_SETTLE_S = 0.1  # editors write a file in several steps
_MOST_PRINTED = 6  # lines of what the script prints, where there are findings as well
_CLEAR = "\033[H\033[2J\033[3J"


def watch(options: argparse.Namespace) -> int:
    """Until Ctrl-C, which is the way to end it. Errors: UsageError."""
    for name in ("output", "write_baseline"):
        if getattr(options, name) is not None:
            raise UsageError(f"--watch shows its reports, and takes no --{name.replace('_', '-')}")
    if options.format != "text":
        raise UsageError(f"--watch shows text, found --format {options.format}")
    script = report_formats.words_of(options)
    if not script or script[0] == "-c":
        raise UsageError("--watch needs a file, or '-m MODULE'")
    own = own_project()  # what is wrong with the command is wrong in every run
    chosen_checks(options.checks, own)
    baseline_of(options, own)
    found = Script(options.script)
    screen = _Screen(sys.stdout, shlex.join(script))
    files = {os.path.abspath(found.file)} if found.module is None else set()
    try:
        while True:
            files |= _run_until_saved(vars(options), files, screen)
            time.sleep(_SETTLE_S)
    except KeyboardInterrupt:
        screen.end()
        return 0


def _run_until_saved(options: dict[str, Any], files: set[str], screen: _Screen) -> set[str]:
    """One run, and the time until one of the files, or of those that it reads, is saved; gives
    those that it has read."""
    before = _states(files)
    screen.begin()
    said = _Run(options).result(lambda: _states(files) != before)
    if said is None:
        return set()
    read = {file for file in said["files"] if os.path.isfile(file)} - files
    before |= _states(read)
    screen.show(said, len(before))
    while _states(files | read) == before:
        time.sleep(_POLL_S)
    return read


def _states(files: Iterable[str]) -> dict[str, Any]:
    """What changes when a file is saved."""
    states: dict[str, Any] = {}
    for file in files:
        with suppress(OSError):
            found = os.stat(file)
            states[file] = (found.st_mtime_ns, found.st_size, found.st_ino)
    return states


class _Run:
    """One run of the script, in a group of processes of its own."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._file = os.path.join(self._folder.name, "report.json")
        self._start = time.perf_counter()
        arguments = {"file": self._file, "color": wants_color(sys.stdout), "options": options}
        self._output = open(  # noqa: SIM115 - closed with the run
            os.path.join(self._folder.name, "printed"), "w+", encoding="utf-8", errors="replace"
        )
        self._process = subprocess.Popen(
            [*python_words("from blockscope.cli.watch import run; run()"), json.dumps(arguments)],
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output,
            start_new_session=True,
        )  # fmt: skip

    def result(self, is_outdated: Callable[[], bool]) -> dict[str, Any] | None:
        """What the run has said, with what it has ``printed``; None when files were saved amid it.

        Ends all processes of the run.
        """
        try:
            while self._process.poll() is None:
                if is_outdated():
                    return None
                time.sleep(_POLL_S / 2)
            said: dict[str, Any] = {"report": "", "heads": [], "files": [], "counts": ""}
            with suppress(OSError, ValueError), open(self._file, encoding="utf-8") as file:
                said = json.load(file)
            self._output.seek(0)
            status, seconds = self._process.returncode, time.perf_counter() - self._start
            return {**said, "printed": self._output.read(), "status": status, "seconds": seconds}
        finally:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._output.close()
            self._folder.cleanup()


class _Screen:
    """What is shown: the end of what the script prints, what was found, and a line below."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name
        self._is_terminal = stream.isatty()

    def begin(self) -> None:
        if self._is_terminal:
            self._write(f"\r\033[K{self._name}: running")

    def show(self, said: dict[str, Any], files: int) -> None:
        size = shutil.get_terminal_size()
        height = size.lines - 1 if self._is_terminal else sys.maxsize
        now = time.strftime("%H:%M:%S")
        last = (
            f"{self._name}: {said['counts'] or _ended(said['status'])} at {now}, after "
            f"{said['seconds']:.1f} s; {files} file{'s' * (files != 1)} watched, Ctrl-C ends"
        )
        printed = said["printed"].rstrip("\n").splitlines()
        report = said["report"].rstrip("\n").splitlines()
        if self._is_terminal:
            last = last[: size.columns]
            columns = size.columns
            if printed and (report or height < len(printed)):
                room = max(_MOST_PRINTED, height - len(report) - 2)
                printed = _last(printed, min(room, height // 2 if report else height - 1))
            left = height - len(printed) - (3 if printed else 2)
            report = _fitted(report, said["heads"], left, columns)
        blocks = ["\n".join(each) for each in (printed, report) if each]
        if self._is_terminal:
            self._write(_CLEAR)
        self._write("\n\n".join([*blocks, last]))
        if not self._is_terminal:
            self._write("\n\n")

    def end(self) -> None:
        self._write("\n" if self._is_terminal else "")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _ended(status: int) -> str:
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return f"ended with {how}, before it could be checked"


def _last(lines: list[str], count: int) -> list[str]:
    if len(lines) <= count:
        return lines
    return [f"... {len(lines) - count + 1} lines before", *lines[len(lines) - count + 1 :]]


def _fitted(report: list[str], heads: list[str], height: int, columns: int) -> list[str]:
    """The report, if the terminal has so many lines; else the first finding, and of the others
    their first lines."""
    lines = sum(max(1, -(-len(line) // max(1, columns))) for line in report)
    if lines <= height:
        return report
    first = report[: report.index("")] if "" in report else report
    first = [line[:columns] if "\033" not in line else line for line in first]
    rest = heads[1:]
    if not rest:
        return first[: max(1, height)]
    room = max(1, height - len(first) - 1)
    shown = [head[:columns] for head in (rest if len(rest) <= room else rest[: room - 1])]
    if len(rest) > len(shown):
        shown.append(f"... and {len(rest) - len(shown)} more")
    return [*first[: max(1, height - len(shown) - 1)], "", *shown]


# --- the process of one run -----------------------------------------------------------------------


def run() -> None:
    """Checks a script, and leaves what was found, and which files were read, for the one that
    watches."""
    arguments = json.loads(sys.argv[1])
    opened: set[str] = set()
    written: set[str] = set()
    sys.addaudithook(lambda event, args: _note(opened, written, event, args))

    def end(
        report: Any, status: int, children: Sequence[dict[str, Any]], trace: str | None
    ) -> None:
        text = report_formats.text_of(
            report, status, bool(report.launches or children), color=arguments["color"]
        )
        found = [*report.findings, *(each for child in children for each in child["findings"])]
        for child in children:
            if child["findings"]:
                text += f"in child process {child['pid']}:\n{child['text'].rstrip()}\n"
        heads = [each.text.partition("\n")[0] for each in found]
        said = {"report": text, "heads": heads, "counts": _counts(found, report, status)}
        with open(arguments["file"], "w", encoding="utf-8") as file:
            json.dump({**said, "files": sorted(_local(opened) - written)}, file)

    status = 1
    try:
        status = checked(argparse.Namespace(**arguments["options"]), end)
    except UsageError as error:  # the script has been removed
        print(f"blockscope check: {error}", file=sys.stderr)
        status = 2
    finally:
        if not os.path.exists(arguments["file"]):
            with open(arguments["file"], "w", encoding="utf-8") as file:
                said = {
                    "report": "",
                    "heads": [],
                    "counts": "",
                    "files": sorted(_local(opened) - written),
                }
                json.dump(said, file)
    sys.exit(status)


def _counts(found: list[Any], report: Any, status: int) -> str:
    text = report_formats.counts(found, report.launches)
    return f"{text}, status {status}" if status else text


def _note(opened: set[str], written: set[str], event: str, args: tuple[Any, ...]) -> None:
    """A file that the script itself writes would have it run for ever."""
    if event == "open" and isinstance(args[0], str) and args[0].endswith((".py", ".pyc")):
        is_written = isinstance(args[1], str) and any(each in args[1] for each in "wax+")
        # The script may go to another folder.
        (written if is_written else opened).add(os.path.abspath(args[0]))


def _local(opened: set[str]) -> set[str]:
    """The user's files among those, compiled ones by their source."""
    from importlib.util import source_from_cache

    found = set()
    for file in opened:
        with suppress(ValueError):
            found.add(source_from_cache(file) if file.endswith(".pyc") else file)
    return users_files(found)
