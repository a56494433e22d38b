"""Promises to the compiler."""

from __future__ import annotations

from typing import Any

import blockscope.language as tl

from op_cases.case import (
    OpCase,
    X,
)


def _assuming(x: Any) -> Any:
    tl.assume(tl.program_id(0) >= 0)
    return x


def _behind_barrier(x: Any) -> Any:
    tl.debug_barrier()
    return x


def _behind_launch(x: Any) -> Any:
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    return x


CASES: list[OpCase] = [
    OpCase("multiple_of", lambda x: tl.multiple_of(x, 8), [X], lambda x: x, ("int32",)),
    OpCase("max_contiguous", lambda x: tl.max_contiguous(x, 8), [X], lambda x: x, ("int32",)),
    OpCase("max_constancy", lambda x: tl.max_constancy(x, [8]), [X], lambda x: x, ("int32",)),
    OpCase("assume", _assuming, [X], lambda x: x, ("int32",)),
    OpCase("debug_barrier", _behind_barrier, [X], lambda x: x, ("int32",)),
    OpCase("gdc_wait", _behind_launch, [X], lambda x: x, ("int32",)),
    OpCase("gdc_launch_dependents", _behind_launch, [X], lambda x: x, ("int32",)),
    OpCase("expect_zero", lambda x: tl.expect_zero(x, x < 0), [X], lambda x: x, ("int32",)),
]
