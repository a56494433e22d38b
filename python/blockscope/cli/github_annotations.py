"""Findings as annotations of GitHub: commands that a workflow's log shows at the line.

Source: GitHub's documentation of workflow commands.
"""

from __future__ import annotations

from collections.abc import Iterable

from blockscope.checks import Finding
from blockscope.cli.sources import Sources

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def commands(findings: Iterable[Finding], sources: Sources, said: Iterable[str]) -> str:
    """A line for each finding, and one for each sentence of ``said`` about the run."""
    lines = [_annotation(each, sources) for each in findings]
    lines += [f"::warning title=blockscope::{_data(each)}" for each in said]
    return "".join(f"{line}\n" for line in lines)


def _annotation(finding: Finding, sources: Sources) -> str:
    properties = {}
    if (file := sources.relative(finding["file"])) is not None:
        properties = {"file": file, "line": finding["line"], "col": sources.column(finding.data)}
    properties["title"] = f"{finding.code}: {finding.message}"
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {listed}::{_data(finding.text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
