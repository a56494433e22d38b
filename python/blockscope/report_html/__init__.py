"""Findings as HTML: a page of its own, and a part of a notebook.

No scripts, but in the interactive map of a notebook, and nothing from a network; all that comes
from kernels is escaped (``text``).
"""

from __future__ import annotations

from blockscope.report_html.finding import article
from blockscope.report_html.page import Run, document, fragment, page
from blockscope.report_html.text import escaped

__all__ = ["Run", "article", "document", "escaped", "fragment", "page"]
