"""The kernels of kernel_cases on a GPU, against torch, with the warps and stages of each case and
with others.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
from kernel_cases import CASES  # noqa: E402


@pytest.mark.parametrize("stages", [None, 1, 2, 4])
@pytest.mark.parametrize("warps", [None, 4, 8])
@pytest.mark.parametrize("name", CASES)
def test_kernel(name: str, warps: int | None, stages: int | None) -> None:
    case = CASES[name]
    arguments = case.clone("cuda")
    case.kernel[case.grid](
        *arguments, **case.constants, num_warps=warps or case.warps,
        num_stages=stages or case.stages,
    )  # fmt: skip
    case.check(arguments)
