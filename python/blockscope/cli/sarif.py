"""Findings as SARIF 2.1.0, the format in which code hosts and editors take them.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from blockscope import _core, checks
from blockscope.cli.explain import text_of
from blockscope.cli.sources import Sources
from blockscope.cli.usage import UsageError

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "SRCROOT"

#: The lists of places beside a finding, in the order in which a value comes to it and goes on; of
#: those before it the nearest stands first.
_BEFORE = (("allocated_at", "allocated"), ("born_at", "born"), ("through", "goes through"))
_AFTER = (("read_at", "read by the host"), ("arrives_at", "arrives"), ("used_at", "used"))


def document(
    findings: Iterable[checks.Finding], sources: Sources, status: int, said: Iterable[str]
) -> str:
    """The log of one run. ``status`` is that of the script, ``said`` what else is to know of it."""
    found = list(findings)
    codes = list(dict.fromkeys(each["code"] for each in found))
    place = _Places(sources)
    run = {
        "tool": {
            "driver": {
                "name": "Blockscope",
                "version": _core.__version__,
                "semanticVersion": _core.__version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "invocations": [
            {
                "executionSuccessful": status == 0,
                "exitCode": status,
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": each}} for each in said
                ],
            }
        ],
        "originalUriBaseIds": {_ROOT: {"uri": sources.uri(sources.root)}},
        "columnKind": "unicodeCodePoints",
        "results": [place.result(each, codes.index(each["code"])) for each in found],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(code: str) -> dict[str, Any]:
    severity, summary = next(
        (severity, text) for name, severity, text in _core.finding_codes() if name == code
    )
    finders = [row["name"] for row in checks.table() if code in row["codes"] and row["name"]]
    rule: dict[str, Any] = {
        "id": code,
        "name": "".join(word.capitalize() for word in code.split("-")),
        "shortDescription": {"text": summary},
        "defaultConfiguration": {"level": severity},
        "properties": {"tags": ["triton", *finders], "precision": "very-high"},
    }
    try:
        page = text_of(code).partition("\n")[2].strip()
    except UsageError:  # no pages beside the package
        return rule
    paragraphs = page.split("\n\n")  # the first one names severity and check
    rule["fullDescription"] = {"text": " ".join(paragraphs[min(1, len(paragraphs) - 1)].split())}
    rule["help"] = {"text": page, "markdown": page}
    return rule


class _Places:
    """Findings and their places as objects of SARIF."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def result(self, found: checks.Finding, rule: int) -> dict[str, Any]:
        finding = found.data
        result: dict[str, Any] = {
            "ruleId": finding["code"],
            "ruleIndex": rule,
            "level": finding["severity"],
            "message": {"text": _message(finding), "markdown": f"```\n{found.text}\n```"},
            "locations": [self._location(finding, kernel=finding.get("kernel", ""))],
            "partialFingerprints": {"blockscopeFinding/v1": self._fingerprint(finding)},
            "properties": {"finding": finding},
        }
        if found.allowed:
            kind = "external" if found.is_known else "inSource"
            result["suppressions"] = [{"kind": kind, "justification": found.allowed}]
        if finding.get("count", 0) > 0:
            result["occurrenceCount"] = finding["count"]
        if related := list(_related(finding)):
            result["relatedLocations"] = [
                {"id": number, **self._location(site, said)}
                for number, (site, said) in enumerate(related, 1)
            ]
        if flows := list(self._flows(finding)):
            result["codeFlows"] = flows
        if finding.get("called_from"):
            frames = [finding, *finding["called_from"]]
            result["stacks"] = [{"frames": [{"location": self._location(f)} for f in frames]}]
        return result

    def _location(self, place: dict[str, Any], said: str = "", kernel: str = "") -> dict[str, Any]:
        location: dict[str, Any] = {}
        file = self._sources.relative(place["file"])
        if file is not None and place["line"] > 0:
            region = {"startLine": place["line"], "startColumn": self._sources.column(place)}
            if line := self._sources.line(place):
                region["snippet"] = {"text": line}
            location["physicalLocation"] = {
                "artifactLocation": self._artifact(file), "region": region
            }  # fmt: skip
        names = [name for name in dict.fromkeys((place.get("function", ""), kernel)) if name]
        if names:
            location["logicalLocations"] = [{"name": n, "kind": "function"} for n in names]
        if said:
            location["message"] = {"text": said}
        return location

    def _artifact(self, file: str) -> dict[str, str]:
        if file.startswith("/"):
            return {"uri": self._sources.uri(file)}
        return {"uri": quote(file), "uriBaseId": _ROOT}

    def _flows(self, finding: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Both sides of a race; the way of a value from where it comes from to where it goes."""
        if "other" in finding:
            sides = [(finding, _ran(finding)), (finding["other"], _ran(finding["other"]))]
            yield {"threadFlows": [self._thread([side], ran) for side, ran in sides]}
        before = [(site, said) for name, said in _BEFORE for site in finding.get(name, ())[::-1]]
        after = [(site, said) for name, said in _AFTER for site in finding.get(name, ())]
        if before or after:
            way = [*before, (finding, finding["message"]), *after]
            steps = [
                {
                    "location": self._location(site, said),
                    "executionOrder": number,
                    "importance": "essential" if site is finding else "important",
                }
                for number, (site, said) in enumerate(way, 1)
            ]
            yield {"threadFlows": [{"locations": steps}]}

    def _thread(self, places: list[dict[str, Any]], ran: str) -> dict[str, Any]:
        """One side of a race, with the calls that lead there, the outermost first."""
        steps = [
            {"location": self._location(site, f"calls {inner}"), "nestingLevel": level}
            for level, (site, inner) in enumerate(_calls(places[0]))
        ]
        last = {"location": self._location(places[0], ran), "importance": "essential"}
        return {"id": ran, "locations": [*steps, {**last, "nestingLevel": len(steps)}]}

    def _fingerprint(self, finding: dict[str, Any]) -> str:
        """The same for the same mistake when lines above it come and go."""
        file = self._sources.relative(finding["file"]) or ""
        parts = (finding["code"], file, finding.get("kernel", ""), finding.get("tensor", ""),
                 self._sources.line(finding).strip())  # fmt: skip
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _calls(place: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """The places that call, outermost first, each with the function that it calls."""
    inner = [place, *place.get("called_from", ())]
    return [(site, inner[n]["function"]) for n, site in enumerate(inner[1:])][::-1]


def _related(finding: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    if "other" in finding:
        yield finding["other"], f"other side: {_ran(finding['other'])}"
    for name, said in (*_BEFORE, *_AFTER):
        for site in finding.get(name, ()):
            yield site, f"{said} here"
    for each in finding.get("shares", ()):
        yield each, f"{each['share']:.0%} of the error: {each['what']}"


def _ran(site: dict[str, Any]) -> str:
    """ "store by program (1, 0, 0), lane 3, value 7"."""
    program = ", ".join(map(str, site.get("program", ())))
    text = f"{site['access']} by program ({program})" if "access" in site else f"({program})"
    if site.get("block_shape"):
        text += f", lane {site['lane']}"
    return text + (f", value {site['value']}" if site.get("value") else "")


def _message(finding: dict[str, Any]) -> str:
    """One line, and where it happened, in sentences."""
    parts = [finding["message"]]
    if finding.get("kernel"):
        ran = f", {_ran(finding)}" if "program" in finding else ""
        grid = ", ".join(map(str, finding["grid"]))
        parts.append(f"kernel '{finding['kernel']}'{ran}, grid ({grid})")
    if values := finding.get("meta_parameters"):
        parts.append("launched with " + ", ".join(f"{k} = {v}" for k, v in values.items()))
    if finding.get("hint"):
        parts.append(f"hint: {finding['hint']}")
    return "; ".join(parts)
