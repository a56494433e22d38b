"""One finding as HTML: its lines, its places by their roles, and what the text report says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from blockscope.report_html import source
from blockscope.report_html.source import Mark, mark_of
from blockscope.report_html.text import escaped, from_markdown, inline

#: The rows that are taken from the text of a finding, in its order; places have lines of code.
_ROWS = ("where", "tensor", "order", "values", "also", "model", "launch", "count", "cost")
_ROW = re.compile(rf"^  ({'|'.join(_ROWS)}): (.*)$")
_ROLES = (
    ("allocated_at", "allocated here"),
    ("born_at", "born here"),
    ("through", "goes through here"),
    ("changed_at", "last changed here"),
    ("arrives_at", "arrives here"),
    ("used_at", "used here"),
    ("read_at", "read by the host here"),
)


def article(
    finding: Any, number: int, folder: str, explain: Callable[[str], str] | None = None,
    picture: str = "",
) -> str:  # fmt: skip
    """``finding`` is a ``checks.Finding``; ``picture`` the HTML of a picture, or nothing."""
    data: dict[str, Any] = finding.data
    severity = data["severity"]
    place = f"{source.name_of(data['file'])}:{data['line']}:{data['column']}"
    parts = [
        f'<article class="finding {escaped(severity)}" id="finding-{number}">',
        f'<header><span class="severity">{escaped(severity)}</span> '
        f"<h2>{escaped(data['message'])}</h2>"
        f'<p class="place"><code>{escaped(data["code"])}</code> at <code>{escaped(place)}</code>'
        f"{_of_child(finding)}</p></header>",
        _sides(data, folder) if "other" in data else source.shown(_way(data), folder),
        f'<p class="hint"><b>Hint</b> {inline(data["hint"])}</p>' if data.get("hint") else "",
        _shares(data, folder),
        _waiting(finding.text),
        _rows(finding.text),
        picture,
    ]
    if explain is not None and (page := explain(data["code"])):
        title, _, rest = page.partition("\n")
        parts.append(
            f"<details><summary>{escaped(title.lstrip('# '))}</summary>"
            f'<div class="page">{from_markdown(rest)}</div></details>'
        )
    return "".join([*parts, "</article>"])


def _of_child(finding: Any) -> str:
    return "" if finding.child is None else f" in child process {finding.child}"


def _way(data: dict[str, Any]) -> Iterator[Mark]:
    """The place of a finding, with the calls that lead there and the places beside it."""
    yield mark_of(data, _here(data), is_main=True)
    yield from _calls(data)
    for name, said in _ROLES:
        for site in data.get(name, ()):
            yield mark_of(site, ": ".join(filter(None, (said, ran(site)))))
            yield from _calls(site)


def _here(data: dict[str, Any]) -> str:
    return ran(data) or data["code"]


def _calls(place: dict[str, Any]) -> Iterator[Mark]:
    inner = place.get("function", "")
    for caller in place.get("called_from", ()):
        yield mark_of(caller, f"calls {inner}" if inner else "calls it")
        inner = caller.get("function", "")


def _sides(data: dict[str, Any], folder: str) -> str:
    """Both sides of a race beside one another."""
    sides = []
    for title, site in (("this side", data), ("other side", data["other"])):
        marks = [mark_of(site, site.get("access", "here"), is_main=True), *_calls(site)]
        sides.append(
            f'<div class="side"><h3>{title}: {escaped(ran(site))}</h3>'
            f"{source.shown(marks, folder)}</div>"
        )
    return f'<div class="sides">{"".join(sides)}</div>'


def ran(site: dict[str, Any]) -> str:
    """ "store by program (1, 0, 0), lane 3 of block [64], value 7"; nothing where nothing ran."""
    if "program" not in site:
        return ""
    text = f"program ({', '.join(map(str, site['program']))})"
    if "access" in site:
        text = f"{site['access']} by {text}"
    if site.get("block_shape"):
        text += f", lane {site['lane']} of block {site['block_shape']}"
    if iterations := site.get("loop_iterations"):
        text += (
            f", iteration {iterations[0]} of the loop"
            if len(iterations) == 1
            else f", iterations {iterations} of the loops"
        )
    if site.get("semantics"):
        text += f" ({site['semantics']})"
    return text + (f", value {site['value']}" if site.get("value") else "")


def _rows(text: str) -> str:
    rows = [match for line in text.splitlines() if (match := _ROW.match(line))]
    listed = "".join(f"<dt>{escaped(m[1])}</dt><dd>{escaped(m[2])}</dd>" for m in rows)
    return f"<dl>{listed}</dl>" if rows else ""


def _waiting(text: str) -> str:
    """Who waits for whom, as the text report has it."""
    _, found, rest = text.partition("\n  waiting:\n")
    rows = []
    for line in rest.splitlines() if found else ():
        if not line.startswith("    "):
            break
        rows.append(f"<li>{escaped(line.strip())}</li>")
    return f'<h3>Waiting</h3><ul class="waiting">{"".join(rows)}</ul>' if rows else ""


def _shares(data: dict[str, Any], folder: str) -> str:
    rows = []
    for each in data.get("shares", ()):
        percent = f"{each['share']:.0%}"
        line = source.line_of(each, folder)
        rows.append(
            f'<tr><td class="percent">{percent}</td>'
            f'<td><div class="bar"><div style="width:{percent}"></div></div></td>'
            f"<td>line {each['line']}, {escaped(each['what'])}<br><code>{escaped(line)}</code>"
            "</td></tr>"
        )
    return f'<h3>Error from</h3><table class="shares">{"".join(rows)}</table>' if rows else ""
