"""What the loops of a cubin are made of: instructions by kind, read from nvdisasm's text.

A loop is the code from a label to a branch back to it. Loops that ptxas has unrolled differ in how
much one pass does, so counts are compared per unit of work (``Loop.work``).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

LABEL = re.compile(r"^(\.L_\w+):")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)")
TARGET = re.compile(r"`\((\.L_\w+)\)")

KINDS = {
    "mma": r"HGMMA|IGMMA|QGMMA|HMMA|IMMA|QMMA|DMMA|OMMA",
    "async": r"LDGSTS|UTMALDG|UBLKCP",
    "ldg": r"LDG\b|LD\b",
    "stg": r"STG\b|ST\b|RED|ATOM",
    "lds": r"LDS\b|LDSM",
    "sts": r"STS\b|STSM",
    "bar": r"BAR|WARPSYNC|SYNCS|DEPBAR|LDGDEPBAR|WARPGROUP",
    "local": r"LDL|STL",
    "int": r"U?(IMAD|IADD3|IADD|LEA|ISETP|SHF|LOP3|SEL|IMNMX|VIMNMX|PRMT|MOV|R2UR|I2F|IABS|SGXT|"
    r"BMSK|PLOP3|P2R|R2P|CS2R|VIADD|LEPC|VOTE|BREV|FLO|POPC|S2R)",
    "float": r"F(ADD|MUL|FMA|SETP|MNMX|SEL|2F|2FP|2I|CHK)|MUFU|H(ADD2|MUL2|FMA2|MNMX2|SETP2)|"
    r"I2F|I2FP|F2I|F2F|D(ADD|MUL|FMA)",
    "shfl": r"SHFL|REDUX",
}
_KINDS = {kind: re.compile(rf"(?:{text})") for kind, text in KINDS.items()}
_SHAPE = re.compile(r"\.(?:64x(\d+)x(\d+)|(\d)?(\d\d?)(\d\d?))\b")
_FAMILY = re.compile(r"[A-Z0-9]+")


@dataclass
class Loop:
    """The instructions of one loop."""

    first: int
    last: int
    lines: list[str] = field(default_factory=list)
    opcodes: Counter[str] = field(default_factory=Counter)

    def count(self, kind: str) -> int:
        return sum(n for opcode, n in self.opcodes.items() if _KINDS[kind].match(opcode))

    @property
    def total(self) -> int:
        return sum(n for opcode, n in self.opcodes.items() if opcode != "NOP")

    def loaded_bytes(self, family: str) -> int:
        """What a thread loads from global memory by LDG or LDGSTS."""
        return sum(
            n * width(opcode)
            for opcode, n in self.opcodes.items()
            if _FAMILY.match(opcode).group() == family
        )  # type: ignore[union-attr]

    def widths(self, family: str) -> Counter[int]:
        """How many accesses there are of each number of bits."""
        found: Counter[int] = Counter()
        for opcode, n in self.opcodes.items():
            if _FAMILY.match(opcode).group() == family:  # type: ignore[union-attr]
                found[width(opcode) * 8] += n
        return found

    @property
    def work(self) -> tuple[str, int]:
        """What one pass does: multiplications of its matrix instructions, or bytes loaded."""
        if products := sum(n * products_of(op) for op, n in self.opcodes.items()):
            return "mma", products
        if loaded := self.loaded_bytes("LDG") + self.loaded_bytes("LDGSTS"):
            return "bytes", loaded
        return "stores", max(1, self.count("stg"))


def width(opcode: str) -> int:
    """Bytes that an access of a thread moves."""
    parts = opcode.split(".")
    for bits in (128, 64):
        if str(bits) in parts:
            return bits // 8
    if {"U8", "S8"} & set(parts):
        return 1
    return 2 if {"U16", "S16"} & set(parts) else 4


def products_of(opcode: str) -> int:
    """Multiplications of a matrix instruction: of a warp, of a quarter of a warpgroup."""
    if not _KINDS["mma"].match(opcode):
        return 0
    shape = _SHAPE.search(opcode)
    if not shape:
        return 0
    if shape.group(1):
        return 16 * int(shape.group(1)) * int(shape.group(2))
    digits = opcode.split(".")[1]
    sizes = {"16816": 2048, "1688": 1024, "1684": 512, "16832": 4096, "16864": 8192}
    return sizes.get(digits, 1)


def disassembled(cubin: bytes, nvdisasm: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        done = subprocess.run([nvdisasm, "-c", str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"nvdisasm: {done.stderr.strip()}")
    return done.stdout


def loops_of(sass: str) -> list[Loop]:
    """The innermost loops that do something, in the order of the code."""
    labels: dict[str, int] = {}
    code: list[tuple[str, str]] = []  # opcode and line
    back: list[tuple[int, int]] = []
    ends: list[int] = []  # of the kernel; an EXIT under a predicate is a way out of a loop too
    for line in sass.splitlines():
        if label := LABEL.match(line):
            labels[label.group(1)] = len(code)
        elif instruction := INSTRUCTION.match(line):
            opcode = instruction.group(2)
            if opcode == "BRA" and (target := TARGET.search(line)):
                begin = labels.get(target.group(1))
                if begin is not None and begin < len(code):
                    back.append((begin, len(code)))
            if opcode == "EXIT" and not instruction.group(1):
                ends.append(len(code))
            code.append((opcode, line))
    merged: dict[int, int] = {}
    for begin, end in back:
        if any(begin <= at < end for at in ends):
            continue  # from code that lies behind the kernel's end, such as slow waits
        merged[begin] = max(end, merged.get(begin, 0))
    spans = [
        (b, e)
        for b, e in merged.items()
        if not any(
            (b, e) != (c, f) and b <= c and f <= e and does(code[c : f + 1])
            for c, f in merged.items()
        )
    ]
    loops = []
    for begin, end in spans:
        inside = code[begin : end + 1]
        if does(inside):
            loops.append(
                Loop(
                    begin,
                    end,
                    [line for _, line in inside],
                    Counter(opcode for opcode, _ in inside),
                )
            )
    return loops


def does(code: list[tuple[str, str]]) -> bool:
    """Whether a loop is more than a wait at a barrier."""
    return any(
        _KINDS[kind].match(opcode) for opcode, _ in code for kind in ("mma", "async", "ldg", "stg")
    )


def main_loop(loops: list[Loop]) -> Loop | None:
    """The loop that a kernel's time goes to: with matrix instructions, else the largest."""
    return max(loops, key=lambda loop: (loop.count("mma") > 0, loop.total), default=None)
