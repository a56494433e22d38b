"""Moves, scopes, and control flow inside of an assembly."""

from __future__ import annotations

import numpy as np

from inline_asm_cases.case import COUNT, AsmCase


def move_rows() -> list[AsmCase]:
    return [
        AsmCase("mov.b32", "mov.b32 $0, $1;", ("u32",), "u32", lambda x: x),
        AsmCase("mov.f32", "mov.f32 $0, 0f3FC00000;", ("u32",), "f32",
                lambda x: np.full(COUNT, 1.5, np.float32)),
        AsmCase("mov.b64 list", "{.reg .b32 a, b; mov.b64 {a, b}, $1; mov.b64 $0, {b, a};}",
                ("u64",), "u64", lambda x: x >> np.uint64(32) | x << np.uint64(32)),
        AsmCase("mov.b32 halves", "{.reg .b16 a; mov.b32 {_, a}, $1; cvt.u32.u16 $0, a;}",
                ("u32",), "u32", lambda x: x >> np.uint32(16)),
        AsmCase("scopes",
                "{ .reg .u32 t<3>; // three\n mov.u32 t0, 1; { .reg .u32 t0; mov.u32 t0, 40; "
                "add.u32 t1, t0, 2; } /* t0 again */ add.u32 $0, t0, t1; }",
                ("u32",), "u32", lambda x: np.full(COUNT, 43, np.uint32)),
        AsmCase("loop",
                "{.reg .u32 n, s; .reg .pred p; and.b32 n, $1, 15; mov.u32 s, 0; AGAIN: "
                "setp.eq.u32 p, n, 0; @p bra DONE; add.u32 s, s, n; sub.u32 n, n, 1; bra AGAIN; "
                "DONE: mov.u32 $0, s;}",
                ("u32",), "u32", lambda x: (x & 15) * ((x & 15) + 1) // 2),
        AsmCase("several", "add.u32 $0, $1, -1; xor.b32 $0, $0, 0xffU; shl.b32 $0, $0, 010;",
                ("u32",), "u32", lambda x: ((x - np.uint32(1)) ^ np.uint32(255)) << np.uint32(8)),
    ]  # fmt: skip
