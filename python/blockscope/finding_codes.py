"""Codes of findings as people write them: in comments, marks, tables and baselines."""

from __future__ import annotations

import difflib


def problem_of(code: object) -> str:
    """What is wrong with a code, and the nearest one that is right; empty where nothing is."""
    from blockscope import _core  # late: most runs name no code

    known = [name for name, _, _ in _core.finding_codes()]
    if code in known:
        return ""
    near = difflib.get_close_matches(str(code), known, 1)
    hint = f"did you mean '{near[0]}'?" if near else "'blockscope explain' lists them"
    return f"{code!r} is no code of a finding; {hint}"
