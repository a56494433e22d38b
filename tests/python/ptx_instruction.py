"""One instruction of PTX, read."""

from __future__ import annotations

import re

_LINE = re.compile(r"(?:@(!?)(%[\w.]+)\s+)?([a-z][\w.:]*)\s*(.*)$", re.DOTALL)


class PtxError(AssertionError):
    """The program is wrong: a race, a bad address, a divergent barrier."""


class NotInMachine(PtxError):
    """The machine has no such instruction."""


class Instruction:
    """One line: predicate, opcode in parts, operands as text."""

    def __init__(self, text: str, number: int = -1) -> None:
        self.number = number
        match = _LINE.match(text)
        if match is None:
            raise PtxError(f"cannot read '{text}'")
        self.text = text
        self.is_negated = match[1] == "!"
        self.predicate = match[2]
        self.parts = match[3].replace("::", ".").split(".")
        self.opcode = self.parts[0]
        self.names = frozenset(self.parts)
        self.kind = self.parts[-1]
        self.operands = [
            part.strip() for part in re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", match[4])
        ]
        is_bar = self.opcode in ("bar", "barrier")
        is_of_cta = is_bar and not self.has("warp", "cluster")
        self.is_barrier = is_of_cta  # of the whole CTA
        self.is_of_warp = not is_of_cta and (
            self.has("warp", "sync") or (is_bar and self.has("aligned"))
        )
        self.is_of_cluster = "shared::cluster" in match[3]  # its addresses

    def has(self, *names: str) -> bool:
        return not self.names.isdisjoint(names)
