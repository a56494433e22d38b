"""Tables of ``foreign.py --compile-time``: how long compiling takes, ours beside Triton's.

Times are processor time (user and system), which others on the machine change little. The stages
of our compiler are told apart by their share of the time that passes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

SIDES = ("triton", "blockscope")
GOAL, LIMIT_SECONDS = 0.7, 5.0
PARTS = ("front", "passes", "lower", "llvm", "nvptx", "ptxas")
PART_OF = {"front": "front", "tlg": "passes", "notes": "passes", "lower": "lower", "llvm": "llvm"}
PART_OF |= {"ptx": "nvptx"}


class Cost:
    """What the compilations of one kernel in one case cost one side."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.grown = 0
        self.parts = dict.fromkeys(PARTS, 0.0)

    def add(self, line: dict[str, Any]) -> None:
        own, ptxas = line["own_seconds"], line["ptxas_seconds"]
        self.count += 1
        self.seconds += own + ptxas
        self.grown = max(self.grown, line["grown_bytes"])
        self.parts["ptxas"] += ptxas
        passed = {name: t for name, t in line["stages"].items() if name in PART_OF}
        for name, seconds in passed.items():
            self.parts[PART_OF[name]] += own * seconds / sum(passed.values())


def costs(rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Cost]]:
    """By "case kernel" and side."""
    found: dict[str, dict[str, Cost]] = {}
    for side, line in rows:
        if "own_seconds" in line:
            sides = found.setdefault(f"{line['case']} {line['kernel']}", {})
            sides.setdefault(side, Cost()).add(line)
    return found


def report(rows: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """The table in text: the totals, then every kernel past the goal or over the limit."""
    found = costs(rows)
    both = {
        name: (sides["triton"], sides["blockscope"])
        for name, sides in found.items()
        if len(sides) == len(SIDES) and sides["triton"].count == sides["blockscope"].count
    }
    lines = [f"{len(both)} of {len(found)} kernels are compiled by both, as often"]
    if len(both) > 1:
        lines += _totals(list(both.values()))
    lines.append(f"{'seconds':>8} {'ratio':>6} {'MiB':>5} " + _heading() + "  case kernel")
    slow = {
        name: sides["blockscope"]
        for name, sides in found.items()
        if "blockscope" in sides and sides["blockscope"].seconds > LIMIT_SECONDS
    }
    late = {name: b for name, (a, b) in both.items() if b.seconds > GOAL * a.seconds}
    for name, cost in sorted((slow | late).items(), key=lambda row: -row[1].seconds):
        ratio = f"{cost.seconds / both[name][0].seconds:6.2f}" if name in both else f"{'-':>6}"
        lines.append(f"{cost.seconds:8.2f} {ratio} {cost.grown >> 20:5} {_split(cost)}  {name}")
    return "\n".join(lines)


def _totals(both: list[tuple[Cost, Cost]]) -> list[str]:
    sums = [sum(pair[side].seconds for pair in both) for side in (0, 1)]
    ptxas = [sum(pair[side].parts["ptxas"] for pair in both) for side in (0, 1)]
    quartiles = statistics.quantiles([b.seconds / a.seconds for a, b in both], n=4)
    parts = ", ".join(f"{part} {sum(b.parts[part] for _, b in both):.1f}" for part in PARTS)
    grown = [statistics.median(pair[side].grown for pair in both) / 2**20 for side in (0, 1)]
    most = [max(pair[side].grown for pair in both) / 2**20 for side in (0, 1)]
    return [
        f"seconds, ptxas of them: Triton {sums[0]:.1f}, {ptxas[0]:.1f}; "
        f"Blockscope {sums[1]:.1f}, {ptxas[1]:.1f}; ratio {sums[1] / sums[0]:.2f}",
        f"quartiles of the ratio: {', '.join(f'{q:.2f}' for q in quartiles)}; "
        f"{sum(b.seconds > GOAL * a.seconds for a, b in both)} above {GOAL}",
        f"seconds of Blockscope by part: {parts}",
        f"MiB more while compiling, median and most: Triton {grown[0]:.0f}, {most[0]:.0f}; "
        f"Blockscope {grown[1]:.0f}, {most[1]:.0f}",
    ]


def _heading() -> str:
    return " ".join(f"{part:>6}" for part in PARTS)


def _split(cost: Cost) -> str:
    return " ".join(f"{cost.parts[part]:6.2f}" for part in PARTS)
