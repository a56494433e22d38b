"""The page around findings, and the part of a page that a notebook shows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from blockscope.report_html import source
from blockscope.report_html.finding import article
from blockscope.report_html.style import STYLE
from blockscope.report_html.text import escaped

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_PLURALS = {"error": "errors", "warning": "warnings", "note": "notes"}


@dataclass
class Run:
    """What was found, and what there is to say of the run. ``pictures`` are PNG files as base64, by
    the place of their finding in ``findings``, each with what it shows."""

    findings: Sequence[Any]
    allowed: Sequence[Any] = ()
    title: str = "Blockscope report"
    facts: Mapping[str, str] = field(default_factory=dict)
    said: Sequence[str] = ()
    pictures: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    explain: Callable[[str], str] | None = None
    folder: str = field(default_factory=os.getcwd)
    is_checked: bool = True  # else nothing was launched, and no findings mean nothing


def page(run: Run) -> str:
    """A whole file."""
    return document(run.title, f"{run.title}: {_tally_text(run)}", _body(run))


def document(heading: str, title: str, body: str, style: str = "") -> str:
    """A whole file around some HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escaped(title)}</title>"
        f'<style>{STYLE}{style}</style></head>\n<body><main class="blockscope">\n'
        f"<h1>{escaped(heading)}</h1>\n{body}\n</main></body></html>\n"
    )


def fragment(run: Run) -> str:
    """A part of another page."""
    return f'<style>{STYLE}</style><div class="blockscope part">{_body(run)}</div>'


def _body(run: Run) -> str:
    parts = [_tally(run), _facts(run)]
    if run.said:
        rows = "".join(f"<li>{escaped(each)}</li>" for each in run.said)
        parts.append(f'<ul class="said">{rows}</ul>')
    if len(run.findings) > 1:
        parts.append(_table(run))
    for number, each in enumerate(run.findings):
        picture = _picture(*run.pictures[number]) if number in run.pictures else ""
        parts.append(article(each, number, run.folder, run.explain, picture))
    parts.append(_allowed("In the baseline", [e for e in run.allowed if e.is_known]))
    parts.append(_allowed("Allowed", [e for e in run.allowed if not e.is_known]))
    return "\n".join(filter(None, parts))


def _counts(run: Run) -> list[tuple[str, int]]:
    counts = Counter(each.severity for each in run.findings)
    return [(name, counts[name]) for name in _PLURALS if counts[name]]


def _tally_text(run: Run) -> str:
    counts = [f"{n} {name if n == 1 else _PLURALS[name]}" for name, n in _counts(run)]
    return ", ".join(counts) or ("no findings" if run.is_checked else "nothing was checked")


def _tally(run: Run) -> str:
    chips = [
        f'<span class="chip {name}">{n} {name if n == 1 else _PLURALS[name]}</span>'
        for name, n in _counts(run)
    ] or [f'<span class="chip{" clean" if run.is_checked else ""}">{_tally_text(run)}</span>']
    if known := sum(each.is_known for each in run.allowed):
        chips.append(f'<span class="chip">{known} in the baseline</span>')
    return f'<p class="tally">{" ".join(chips)}</p>'


def _facts(run: Run) -> str:
    rows = "".join(f"<dt>{escaped(k)}</dt><dd>{escaped(v)}</dd>" for k, v in run.facts.items())
    return f'<dl class="facts">{rows}</dl>' if rows else ""


def _table(run: Run) -> str:
    rows = [
        f'<tr class="{escaped(each.severity)}"><td><span class="severity">{escaped(each.severity)}'
        f'</span></td><td><a href="#finding-{number}">{escaped(each.code)}</a></td>'
        f'<td title="{escaped(each.file)}">'
        f"<code>{escaped(os.path.basename(source.name_of(each.file)))}:{each.line}</code></td>"
        f"<td>{escaped(each.get('kernel', ''))}</td><td>{escaped(each.message)}</td></tr>"
        for number, each in enumerate(run.findings)
    ]
    head = "<tr><th></th><th>finding</th><th>place</th><th>kernel</th><th></th></tr>"
    return f'<div class="wide"><table class="list">{head}{"".join(rows)}</table></div>'


def _picture(data: str, said: str) -> str:
    return (
        f'<figure><img src="data:image/png;base64,{escaped(data)}" alt="{escaped(said)}">'
        f"<figcaption>{escaped(said)}</figcaption></figure>"
    )


def _allowed(title: str, findings: Sequence[Any]) -> str:
    if not findings:
        return ""
    rows = "".join(
        f"<li><code>{escaped(source.name_of(each.file))}:{each.line}</code> {escaped(each.code)}: "
        f"{escaped(each.message)}; because {escaped(each.allowed)}</li>"
        for each in findings
    )
    return f"<details><summary>{title}: {len(findings)}</summary><ul>{rows}</ul></details>"
