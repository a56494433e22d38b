"""The report of a checked script in the format that was asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from blockscope.checks import Finding
from blockscope.cli.before_run import wants_color
from blockscope.cli.sources import Sources

FORMATS = ("text", "json", "sarif", "github", "html")
NO_LAUNCH = "no kernel was launched: nothing was checked"


def document(
    report: Any,
    options: argparse.Namespace,
    status: int,
    sources: Sources,
    children: Sequence[dict[str, Any]],
    trace: str | None = None,
) -> str:
    """All but text and JSON have what child processes found, too. ``trace`` is a file with the
    launches, where HTML shall have pictures of them."""
    if options.format == "json":
        return str(report.json()).rstrip("\n") + "\n"
    has_launched = report.launches > 0 or bool(children)
    if options.format == "text":
        color = options.output is None and wants_color(sys.stderr)
        return text_of(report, status, has_launched, color=color)
    findings = [*report.findings, *(each for child in children for each in child["findings"])]
    allowed = [*report.allowed, *report.known_in_children]
    said = said_of(report, status, has_launched)
    if options.format == "github":
        from blockscope.cli import github_annotations

        return github_annotations.commands(findings, sources, said)
    if options.format == "html":
        return _html(report, options, status, findings, allowed, said, trace)
    from blockscope.cli import sarif

    return sarif.document([*findings, *allowed], sources, status, said) + "\n"


def _html(
    report: Any,
    options: argparse.Namespace,
    status: int,
    findings: Sequence[Finding],
    allowed: Sequence[Finding],
    said: list[str],
    trace: str | None,
) -> str:
    from blockscope import _core, report_html
    from blockscope.cli import heat_maps
    from blockscope.cli.explain import page_or_nothing

    pictures: dict[int, tuple[str, str]] = {}
    if trace is not None:
        pictures, missing = heat_maps.of_findings(trace, findings)
        said = [*said, *missing]
    return report_html.page(
        report_html.Run(
            findings,
            allowed,
            facts={
                "script": " ".join(words_of(options)),
                "checks": ", ".join(report.checks),
                "launches": str(report.launches),
                "Blockscope": _core.__version__,
            },
            said=said,
            pictures=pictures,
            explain=page_or_nothing,
            is_checked=report.launches > 0,
        )
    )


def words_of(options: argparse.Namespace) -> list[str]:
    """The script with its arguments."""
    words: list[str] = options.script
    return words[1:] if words[:1] == ["--"] else words


def said_of(report: Any, status: int, has_launched: bool) -> list[str]:
    """What else there is to know of a run, in sentences."""
    said = [NO_LAUNCH]
    if has_launched:
        said = [*report.said_of_comments(), *report.said_of_baseline()]
    if dropped := report.handle.dropped_causes():
        said.append(f"further causes that are not shown: {dropped} (--max-findings)")
    if status:
        said.append(cut_off(status))
    return said


def counts(found: Sequence[Any], launches: int) -> str:
    """How many findings of each severity there are, in words."""
    severities = [each.severity for each in found]
    words = [
        f"{severities.count(name)} {name}{'s' * (severities.count(name) != 1)}"
        for name in ("error", "warning", "note")
        if name in severities
    ]
    return ", ".join(words) or ("no findings" if launches else "no kernel was launched")


def text_of(report: Any, status: int, has_launched: bool, *, color: bool) -> str:
    """For people to read."""
    if not has_launched:
        return NO_LAUNCH + "\n"
    first, _, rest = str(report.text(color)).rstrip("\n").partition("\n")
    if status and report.clean:
        first += f" up to where the script ended, with status {status}"
    text = f"{first}\n{rest}\n" if rest else f"{first}\n"
    return text if not status or report.clean else f"{text}{cut_off(status)}\n"


def cut_off(status: int) -> str:
    """What a report says of a script that did not end well."""
    return f"the script ended with status {status}: what it did not reach is unchecked"
