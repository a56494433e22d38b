"""The defaults of a project: the table ``[tool.blockscope]`` of its ``pyproject.toml``."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from typing import Any

from blockscope import toml_file

TABLE = "[tool.blockscope]"


@dataclass(frozen=True)
class Project:
    """What the table says; ``file`` is empty where there is none.

    ``checks`` is None where it names none. ``options`` are what ``checks.check`` takes besides.
    """

    file: str = ""
    checks: tuple[str, ...] | None = None
    options: dict[str, Any] = field(default_factory=dict)


def of_folder(folder: str | os.PathLike[str]) -> Project:
    """The nearest table: of the ``pyproject.toml`` in the folder, or in one above it.

    Errors: ValueError that names file and key, for what the table may not say.
    """
    here = os.path.abspath(folder)
    while True:
        file = os.path.join(here, "pyproject.toml")
        table = _table_of(file) if os.path.isfile(file) else None
        if table is not None:
            return _project(file, table)
        above = os.path.dirname(here)
        if above == here:
            return Project()
        here = above


def _table_of(file: str) -> Any:
    with open(file, "rb") as stream:
        text = stream.read()
    if b"blockscope" not in text:  # no table, without the time to read one
        return None
    tool = toml_file.parsed(file, text).get("tool", {})
    return tool.get("blockscope") if isinstance(tool, dict) else None


def _project(file: str, table: Any) -> Project:
    if not isinstance(table, dict):
        raise ValueError(f"{file}: {TABLE} is {table!r}, expected a table")
    from blockscope import checks  # late: most folders have no table

    of_checks = {o["name"]: o["choices"] for row in checks.table() for o in row["options"]}
    known = ("checks", "max_findings", "baseline", "severity", *of_checks)
    named: tuple[str, ...] | None = None
    options: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(known)}"
            raise ValueError(f"{file}: {TABLE} has the unknown key '{key}'; {hint}")
        if name == "checks":
            named = _checks(file, value)
        elif name == "max_findings":
            options[name] = _max_findings(file, value)
        elif name == "baseline":
            options[name] = _baseline(file, value)
        elif name == "severity":
            options[name] = _severity(file, value)
        else:
            options[name] = _choice(file, key, value, of_checks[name])
    return Project(file, named, options)


def _checks(file: str, value: Any) -> tuple[str, ...]:
    from blockscope.checks import parse_checks

    try:
        return tuple(parse_checks(value))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: {TABLE} checks: {error}") from None


def _baseline(file: str, value: Any) -> str:
    """The path, which the table has from the folder of its file."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{file}: {TABLE} baseline is {value!r}, expected the path of a file")
    return os.path.join(os.path.dirname(file), value)


def _severity(file: str, value: Any) -> dict[str, str]:
    from blockscope.checks import parse_severity

    try:
        return parse_severity(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: [tool.blockscope.severity]: {error}") from None


def _max_findings(file: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            f"{file}: {TABLE} max-findings is {value!r}, expected a whole number of at least 1"
        )
    return value


def _choice(file: str, key: str, value: Any, choices: list[str]) -> str:
    text = ("off", "on")[value] if isinstance(value, bool) else value
    if text not in choices:
        raise ValueError(f"{file}: {TABLE} {key} is {value!r}, expected {' or '.join(choices)}")
    return str(text)
