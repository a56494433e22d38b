"""What benchmarks/sass_loops.py takes for a loop in nvdisasm's text."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from sass_loops import loops_of


def text_of(*lines: str) -> str:
    """Labels as they are, instructions with their places."""
    return "\n".join(
        line if line.startswith(".L") else f"        /*{16 * i:04x}*/                   {line} ;"
        for i, line in enumerate(lines)
    )


def test_a_loop_that_the_kernel_ends_in_is_one() -> None:
    loops = loops_of(
        text_of(
            "MOV R1, c[0x0][0x28]",
            ".L_x_0:",
            "LDG.E R4, [R2.64]",
            "STG.E [R6.64], R4",
            "@P0 EXIT",
            "BRA `(.L_x_0)",
            ".L_x_1:",
            "BRA `(.L_x_1)",
        )
    )
    assert [dict(loop.opcodes) for loop in loops] == [{"LDG.E": 1, "STG.E": 1, "EXIT": 1, "BRA": 1}]


def test_code_behind_the_end_makes_no_loop() -> None:
    loops = loops_of(
        text_of(
            "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2], R3",
            "@!P0 BRA `(.L_x_1)",
            ".L_x_0:",
            "LDG.E R4, [R2.64]",
            "@P1 EXIT",
            "STG.E [R6.64], R4",
            "EXIT",
            ".L_x_1:",
            "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2], R3",
            "@!P0 BRA `(.L_x_1)",
            "BRA `(.L_x_0)",
        )
    )
    assert loops == []
