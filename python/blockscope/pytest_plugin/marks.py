"""What the marks ``@pytest.mark.blockscope(checks=..., allow=...)`` of a test ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from blockscope import finding_codes
from blockscope.checks import codes_of, parse_checks, parse_severity

MARK = "blockscope"
TAKES = "@pytest.mark.blockscope takes checks=, allow= and options of checks"


@dataclass
class Wanted:
    """How one test is checked. No checks: not at all."""

    checks: list[str]
    options: dict[str, Any]
    allow: dict[str, str] = field(default_factory=dict)
    """For each code that is allowed, which mark says so: the same text for all tests that have
    the mark."""

    def expected(self) -> dict[str, str]:
        """``allow`` without the codes that these checks do not find."""
        if not self.allow:
            return {}
        found = codes_of(self.checks)
        return {code: key for code, key in self.allow.items() if code in found}


def wanted_by(item: pytest.Item, checks: list[str], options: dict[str, Any]) -> Wanted:
    """The marks of a test over the defaults of the run: the nearest mark that names checks decides,
    and codes that any of them allows are allowed.

    Errors: ValueError for a mark that asks for something unknown.
    """
    named: list[str] | None = None
    allow: dict[str, str] = {}
    changed: dict[str, Any] = {}
    severity: dict[str, str] = {}
    for node, mark in item.iter_markers_with_node(MARK):  # the nearest first
        if mark.args:
            raise ValueError(f"{TAKES}, found {mark.args[0]!r} without a name")
        given = dict(mark.kwargs)
        if "severity" in given:
            severity = {**_severity(given.pop("severity")), **severity}
        for code in _codes(given.pop("allow", ())):
            allow.setdefault(code, f"{_place_of(item, node, mark)}: allow={code!r}")
        if "checks" in given:
            parsed = _parsed(given.pop("checks"))
            named = parsed if named is None else named
        changed = {**given, **changed}
    if severity:
        changed["severity"] = {**options.get("severity", {}), **severity}
    return Wanted(checks if named is None else named, {**options, **changed}, allow)


def _parsed(named: Any) -> list[str]:
    if named == "off" or not named:
        return []
    try:
        return parse_checks(named)
    except (TypeError, ValueError) as error:
        raise ValueError(f"@pytest.mark.blockscope(checks={named!r}): {error}, or off") from None


def _severity(wanted: Any) -> dict[str, str]:
    try:
        return parse_severity(wanted)
    except (TypeError, ValueError) as error:
        raise ValueError(f"@pytest.mark.blockscope(severity={wanted!r}): {error}") from None


def _codes(allow: Any) -> Iterable[str]:
    codes = [allow] if isinstance(allow, str) else allow
    if not isinstance(codes, Iterable):
        raise ValueError(
            f"@pytest.mark.blockscope(allow={allow!r}): expected codes of findings, such as "
            "['oob-load']"
        )
    for code in codes:
        if problem := finding_codes.problem_of(code):
            raise ValueError(f"@pytest.mark.blockscope(allow={allow!r}): {problem}")
        yield code


def _place_of(item: pytest.Item, node: Any, mark: Any) -> str:
    """The node that has the mark; of a parametrised test without its parameters, unless the mark is
    one of these parameters alone."""
    function = getattr(item, "function", None)
    is_of_all = any(mark is each for each in getattr(function, "pytestmark", ()))
    return str(node.nodeid).partition("[")[0] if is_of_all else str(node.nodeid)
