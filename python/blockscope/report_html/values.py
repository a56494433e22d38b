"""A block and a compiled kernel, as a notebook shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockscope.report_html.style import STYLE
from blockscope.report_html.text import escaped

_MOST = 12  # rows and columns; of more the first and the last half


def block(heading: str, values: Any) -> str:
    """A NumPy array as a table; of one with more than two dimensions its first matrix."""
    shown = values
    said = ""
    while shown.ndim > 2:
        shown = shown[0]
    if values.ndim > 2:
        said = f"<p>the first of {values.size // shown.size} matrices</p>"
    rows = shown.reshape(1, -1) if shown.ndim < 2 else shown
    lines = []
    for i in _some(rows.shape[0]):
        cells = "".join(
            f"<td>{'…' if i is None or j is None else escaped(str(rows[i, j]))}</td>"
            for j in _some(rows.shape[1])
        )
        index = "" if shown.ndim < 2 else f"<th>{'' if i is None else i}</th>"
        lines.append(f"<tr>{index}{cells}</tr>")
    corner = "" if shown.ndim < 2 else "<th></th>"
    head = "".join(f"<th>{'' if j is None else j}</th>" for j in _some(rows.shape[1]))
    table = (
        f'<div class="wide"><table class="block"><tr>{corner}{head}</tr>{"".join(lines)}</table>'
    )
    return _part(f"<h3>{escaped(heading)}</h3>{said}{table}</div>")


def kernel(heading: str, facts: Mapping[str, Any], stages: Mapping[str, str]) -> str:
    """A compiled kernel: what it takes, and the text of each stage to unfold."""
    rows = "".join(f"<dt>{escaped(k)}</dt><dd>{escaped(str(v))}</dd>" for k, v in facts.items())
    folded = "".join(
        f"<details><summary>{escaped(name)}, {text.count(chr(10)) + 1} lines</summary>"
        f'<div class="wide"><pre>{escaped(text)}</pre></div></details>'
        for name, text in stages.items()
    )
    return _part(f"<h3>{escaped(heading)}</h3><dl>{rows}</dl>{folded}")


def _some(count: int) -> list[int | None]:
    if count <= _MOST:
        return list(range(count))
    half = _MOST // 2
    return [*range(half), None, *range(count - half, count)]


_OWN = """
.blockscope table.block { width: auto; font-variant-numeric: tabular-nums; }
.blockscope table.block td, .blockscope table.block th { text-align: right; padding: 2px 8px; }
.blockscope table.block th { color: var(--soft); font-weight: 400; }
.blockscope details { margin-top: 6px; }
"""


def _part(body: str) -> str:
    return f'<style>{STYLE}{_OWN}</style><div class="blockscope part">{body}</div>'
