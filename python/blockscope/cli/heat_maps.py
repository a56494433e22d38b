"""Pictures of what findings touched, which the viewer draws from a trace."""

from __future__ import annotations

import base64
import csv
import os
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

from blockscope.cli.viewer import find_viewer

_MOST = 20  # pictures of a report, some 100 KB each
SIZE = "1280x800"  # text stays legible where a page shows it smaller


def of_findings(
    trace: str, findings: Sequence[Any]
) -> tuple[dict[int, tuple[str, str]], list[str]]:
    """For each finding that can be drawn, by its place in the list: a PNG file as base64, and what
    it shows; and sentences about what is not drawn."""
    if not os.path.isfile(trace):
        return {}, []
    viewer = find_viewer()
    pictures: dict[int, tuple[str, str]] = {}
    rows: dict[int, list[tuple[str, ...]]] = {}
    drawable = [n for n, each in enumerate(findings) if each.child is None and "tensor" in each]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for number in drawable[:_MOST]:
            finding = findings[number]
            launch = finding.launch
            if launch not in rows:
                rows[launch] = _findings_of(viewer, trace, launch)
            key = (finding.code, str(finding.line), str(finding.column), finding.message)
            if key not in rows[launch]:
                continue
            file = os.path.join(folder, f"{number}.png")
            words = ["--launch", str(launch), "--finding", str(rows[launch].index(key))]
            if not draw(viewer, trace, file, [*words, "--size", SIZE]):
                with open(file, "rb") as stream:
                    data = base64.b64encode(stream.read()).decode("ascii")
                pictures[number] = data, f"what launch {launch} touched of '{finding.tensor}'"
    said = []
    if missing := len(drawable) - len(pictures):
        said.append(f"findings without their picture: {missing} (of at most {_MOST} are drawn)")
    return pictures, said


def draw(viewer: str, trace: str, file: str, words: Sequence[str]) -> str:
    """Has the viewer draw a picture; gives what it says where it does not."""
    done = subprocess.run(
        [viewer, trace, "--png", file, *words],
        capture_output=True, stdin=subprocess.DEVNULL, text=True, errors="replace",
    )  # fmt: skip
    if done.returncode == 0 and os.path.isfile(file):
        return ""
    return done.stderr.strip() or f"the viewer ended with status {done.returncode}"


def table(viewer: str, trace: str, words: Sequence[str]) -> str:
    """The viewer's table of what touched the elements of a tensor. Errors: ValueError."""
    done = subprocess.run(
        [viewer, trace, "--csv", "heat", *words],
        capture_output=True, stdin=subprocess.DEVNULL, text=True, errors="replace",
    )  # fmt: skip
    if done.returncode:
        raise ValueError(f"no table of '{trace}': {done.stderr.strip()}")
    return done.stdout


def _findings_of(viewer: str, trace: str, launch: int) -> list[tuple[str, ...]]:
    """Code, line, column and message of the findings of a launch, in the order of the viewer."""
    done = subprocess.run(
        [viewer, trace, "--csv", "findings", "--launch", str(launch)],
        capture_output=True, stdin=subprocess.DEVNULL, text=True, errors="replace",
    )  # fmt: skip
    rows = csv.DictReader(done.stdout.splitlines())
    return [(row["code"], row["line"], row["column"], row["message"]) for row in rows]
