"""What commands do before the user's script runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from blockscope import project
from blockscope.cli.launch_files import is_launch_file
from blockscope.cli.script import Runs, Script
from blockscope.cli.usage import UsageError, no_file
from blockscope.project import Project

if TYPE_CHECKING:
    from blockscope.cli.launch_script import LaunchScript


def wants_color(stream: Any) -> bool:
    """Colour on a terminal, unless NO_COLOR is set."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def prepared(words: list[str], launch: int | None = None) -> Runs:
    """The script, or the launches of a file, and ``import triton`` meaning Blockscope here and in
    child processes."""
    own = words[1:] if words[:1] == ["--"] else words
    script: Runs
    if own and is_launch_file(own[0]):
        script = launches_of(own[0], launch)
    elif launch is not None:
        raise UsageError("--launch is for launch files (blockscope record writes them)")
    else:
        script = Script(words)
    from blockscope.drop_in import install_as_triton

    install_as_triton()
    return script


def launches_of(path: str, launch: int | None) -> LaunchScript:
    """The launches of a file, or the one of this number."""
    from blockscope.cli.launch_script import LaunchScript

    if not os.path.isfile(path):
        raise no_file(path)
    return LaunchScript(path, launch)


def check_writable(path: str | None, *, is_python: bool = False) -> None:
    """Fail before the run, not after it, when the report cannot be written."""
    if path is None:
        return
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise UsageError(f"'{path}' cannot be written: it is a folder")
    if path.endswith(".py") and not is_python:
        raise UsageError(f"'{path}' cannot be written: it is named like a Python file")
    if not os.path.isdir(folder):
        raise UsageError(f"'{path}' cannot be written: there is no folder '{folder}'")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError(f"'{path}' cannot be written: no permission")


def own_project() -> Project:
    """The defaults of the project in whose folder the command runs."""
    try:
        return project.of_folder(os.getcwd())
    except ValueError as error:
        raise UsageError(str(error)) from None


def chosen_checks(text: str | None, own: Project) -> list[str]:
    """What was named, else what the project names, else the default."""
    from blockscope.checks import DEFAULT_CHECKS, parse_checks

    if text is None and own.checks is not None:
        return list(own.checks)
    try:
        return parse_checks(DEFAULT_CHECKS if text is None else text)
    except ValueError as error:
        raise UsageError(str(error)) from None
