"""One instruction of PTX, read."""

from __future__ import annotations

import re

_LINE = re.compile(r"(?:@(!?)(%p\w+)\s+)?([a-z][\w.:]*)\s*(.*)$", re.DOTALL)


class PtxError(AssertionError):
    """The program is wrong: a race, a bad address, a divergent barrier."""


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
        self.operands = [
            part.strip() for part in re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", match[4])
        ]

    def has(self, *names: str) -> bool:
        return any(name in self.parts for name in names)

    @property
    def kind(self) -> str:
        return self.parts[-1]
