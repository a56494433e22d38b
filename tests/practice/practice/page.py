"""docs/compatibility.md: what ran, what failed and why, from the results of runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from practice.found_by_all import FOUND

MODES = {
    "cpu": "CPU",
    "interpreter": "step by step",
    "check": "checks",
    "gpu-compile": "compiled for sm_90a",
    "gpu": "H200",
}
HEAD = """\
# Compatibility

Kernels of public repositories that nobody here wrote, run unmodified: {cases} cases of {repositories} repositories, most with several kernels. `./dev practice FOLDER --page docs/compatibility.md` makes this page from a folder with clones (`tests/practice/README.md`).

- CPU: the whole kernel on the CPU, small inputs, compared with torch in float64.
- step by step: the same under `TRITON_INTERPRET=1`.
- checks: the same under asan and tsan, which must find nothing, or in a kernel that is wrong just what is listed below.
- All cases ran under every check, too; what only that found has a table of its own.
- compiled for sm_90a: every launch compiled with the sizes of production, without a GPU; of an autotuned kernel at least one configuration. Nothing is run.
"""  # noqa: E501


def text(rows: list[dict[str, Any]], results: Mapping[str, Any]) -> str:
    """The page. ``rows`` are all cases, ``results`` what each gave: mode -> status, why, commit."""
    by_repository: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_repository.setdefault(row["repository"], []).append(row)
    shown = [mode for mode in MODES if any(mode in result for result in results.values())]
    ran = {
        name: mine for name, mine in by_repository.items() if any(_key(r) in results for r in mine)
    }
    parts = [HEAD.format(cases=sum(map(len, ran.values())), repositories=len(ran))]
    parts.append(_summary(ran, results, shown))
    parts.append(_table("What failed", ("case", "mode", "why"), _failures(ran, results, shown)))
    parts.append(_table("What the checks found", ("case", "kernels", "findings"), _found(ran)))
    head = ("case", "kernels", "findings", "why")
    parts.append(_table("What only all checks found", head, _found_by_all(ran)))
    parts.append(_table("What was left out", ("case", "why"), _left_out(ran, results)))
    parts.append(_all(ran, results, shown))
    return "\n".join(part for part in parts if part)


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['repository']}/{row['name']}"


def _summary(ran: Mapping[str, Any], results: Mapping[str, Any], shown: list[str]) -> str:
    lines = []
    total = [0] * (len(shown) + 1)
    for name, mine in sorted(ran.items(), key=lambda item: item[0].lower()):
        mine = [row for row in mine if _key(row) in results]
        commits = {
            m["commit"][:12] for row in mine for m in results[_key(row)].values() if m["commit"]
        }
        counts = [sum(_status(results, row, mode) == "passed" for row in mine) for mode in shown]
        total = [a + b for a, b in zip(total, [len(mine), *counts], strict=True)]
        commit = ", ".join(sorted(commits))
        lines.append((f"[{name}](https://github.com/{name})", commit, len(mine), *counts))
    lines.append(("all", "", *total))
    return _table("", ("repository", "commit", "cases", *(MODES[mode] for mode in shown)), lines)


def _status(results: Mapping[str, Any], row: Mapping[str, Any], mode: str) -> str:
    return results.get(_key(row), {}).get(mode, {}).get("status", "")


def _failures(ran: Mapping[str, Any], results: Mapping[str, Any], shown: list[str]) -> Any:
    for row in _rows(ran):
        by_reason: dict[str, list[str]] = {}
        for mode in shown:
            result = results.get(_key(row), {}).get(mode, {})
            if result.get("status") == "failed":
                by_reason.setdefault(_short(result["why"]), []).append(MODES[mode])
        for why, modes in by_reason.items():
            yield _key(row), ", ".join(modes), why


def _found(ran: Mapping[str, Any]) -> Any:
    for row in _rows(ran):
        if row["finds"]:
            yield _key(row), f"{_names(row)} in `{row['file']}`", row["finds"].replace(",", ", ")


def _found_by_all(ran: Mapping[str, Any]) -> Any:
    for row in _rows(ran):
        if _key(row) in FOUND:
            codes, why = FOUND[_key(row)]
            kernels = f"{_names(row)} in `{row['file']}`"
            yield _key(row), kernels, codes.replace(",", ", "), why


def _left_out(ran: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    for row in _rows(ran):
        skipped = [r for r in results.get(_key(row), {}).values() if r["status"] == "skipped"]
        if skipped:
            yield _key(row), skipped[0]["why"]


def _all(ran: Mapping[str, Any], results: Mapping[str, Any], shown: list[str]) -> str:
    marks = {"passed": "yes", "failed": "no", "skipped": "-", "": ""}
    lines = [
        (_key(row), _names(row), *(marks[_status(results, row, mode)] for mode in shown))
        for row in _rows(ran)
    ]
    return _table("All cases", ("case", "kernels", *(MODES[mode] for mode in shown)), lines)


def _rows(ran: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for _, mine in sorted(ran.items(), key=lambda item: item[0].lower()):
        yield from mine


def _names(row: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in row["kernels"].split(", "))


def _short(why: str) -> str:
    """The first line, without the folder that the files were in."""
    line = re.sub(r"\S*?[\w.-]+\+[\w.-]+@[0-9a-f]{12}/", "", why.split("\n")[0])
    return line[:300].replace("|", "\\|")


def _table(title: str, head: tuple[str, ...], lines: Iterable[tuple[Any, ...]]) -> str:
    lines = list(lines)
    if not lines:
        return ""
    rows = [head, ("---",) * len(head), *lines]
    table = "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)
    return f"## {title}\n\n{table}\n" if title else f"{table}\n"
