"""A sweep as a page: charts whose cells say what they are, and each cause with its finding."""

from __future__ import annotations

import os

from blockscope import report_html
from blockscope.checks import Finding
from blockscope.report_html import escaped
from blockscope.sweep.axes import point_text
from blockscope.sweep.causes import Cause
from blockscope.sweep.chart import NOT_RUN, PASSED, Cell, Chart, charts
from blockscope.sweep.report import SweepReport

_COLUMNS = 128
_STYLE = """
.blockscope .chart { border-collapse: separate; border-spacing: 1px; width: auto; }
.blockscope .chart th { font-weight: 400; color: var(--soft); padding: 0 8px 0 0; text-align: left;
  white-space: nowrap; font-size: 13px; }
.blockscope .chart td { width: 9px; min-width: 9px; height: 18px; padding: 0; font-size: 10px;
  line-height: 18px; text-align: center; color: var(--back); background: var(--panel); }
.blockscope .chart .ok { background: #5aa9e6; }
.blockscope .chart .bad { background: #c2410c; font-weight: 700; }
.blockscope .chart .some { background: repeating-linear-gradient(45deg, #c2410c 0 3px,
  #5aa9e6 3px 6px); font-weight: 700; }
.blockscope .chart .refused { background: #8a8f98; }
.blockscope .cause { margin-top: 26px; }
.blockscope .cause h2 { display: block; }
"""


def page(report: SweepReport) -> str:
    """A whole file; of causes without a finding only the words."""
    path = os.path.basename(report.plan.request.path)
    parts = [f"<p>{escaped(report.head())}</p>"]
    parts += [f"<p>{escaped(said)}</p>" for said in report.plan.said]
    parts += [
        _chart(chart) for chart in charts(report.plan.axes, report.results, report.causes, _COLUMNS)
    ]
    parts.append(
        "<p>Blue cells passed, orange ones did not, striped ones have points of both kinds, grey "
        "ones could not be launched; the letter is that of a cause below.</p>"
    )
    for number, cause in enumerate(report.causes):
        parts.append(_cause(report, cause, number))
    return report_html.document(f"Sweep of {path}", f"Sweep of {path}", "\n".join(parts), _STYLE)


def _chart(chart: Chart) -> str:
    rows = []
    for name, cells in chart.rows:
        rows.append(f"<tr><th>{escaped(name)}</th>{''.join(map(_cell, cells))}</tr>")
    last = f"{chart.column_axis}={chart.columns[0]} to {chart.columns[-1]}"
    title = f"<h3>{escaped(chart.title)}</h3>" if chart.title else ""
    foot = f'<tr><th></th><th colspan="{len(chart.columns)}">{escaped(last)}</th></tr>'
    return f'{title}<div class="wide"><table class="chart">{"".join(rows)}{foot}</table></div>'


def _cell(cell: Cell) -> str:
    if cell.letter == NOT_RUN:
        return f'<td title="{escaped(cell.text)}: not run"></td>'
    if cell.letter == PASSED:
        return f'<td class="ok" title="{escaped(cell.text)}: passed"></td>'
    kind = "refused" if cell.letter.islower() else "bad"
    if cell.bad < cell.count:
        kind = "some"
    said = f"{cell.text}: {cell.bad} of {cell.count} did not pass"
    return f'<td class="{kind}" title="{escaped(said)}">{escaped(cell.letter)}</td>'


def _cause(report: SweepReport, cause: Cause, number: int) -> str:
    title = f"{cause.letter}: {cause.title}"
    parts = [
        f'<section class="cause"><h2>{escaped(title)}</h2>',
        f"<p>{escaped(report.points(cause))}; first at "
        f"<code>{escaped(point_text(cause.results[0].point))}</code></p>",
        f"<p>Alone: <code>{escaped(report.alone(cause))}</code></p>",
    ]
    if cause.finding is not None:
        parts.append(report_html.article(Finding(cause.finding), number, os.getcwd()))
    return "".join([*parts, "</section>"])
