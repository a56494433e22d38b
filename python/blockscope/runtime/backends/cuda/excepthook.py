"""A hint for errors of kernels that surface in torch.

CUDA reports an illegal address at some later call, often one of torch's, whose message knows
nothing of the kernel. When such an exception ends the script, what to run is said below it.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

_TORCH_ERRORS = ("AcceleratorError", "CUDAError")


def install(recent_launches: Any) -> None:
    """Say after a CUDA error of torch which kernels were launched before, by ``recent_launches()``,
    and how to find the line. Once per process; the hook that was there is called first."""
    before = sys.excepthook
    if getattr(before, "is_blockscope", False):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        before(kind, error, trace)
        if is_cuda_error(error):
            print(hint(recent_launches()), file=sys.stderr)

    hook.is_blockscope = True  # type: ignore[attr-defined]
    sys.excepthook = hook


def is_cuda_error(error: BaseException) -> bool:
    """Whether torch says that the GPU failed, not that it has too little memory."""
    if type(error).__name__ in _TORCH_ERRORS:
        return True
    return isinstance(error, RuntimeError) and str(error).startswith("CUDA error:")


def hint(launches: list[str]) -> str:
    which = f"launched before it: {', '.join(launches)}\n  " if launches else ""
    return (
        "blockscope: CUDA reports the error of a kernel at a later call, here one of torch's\n  "
        f"{which}hint: 'blockscope check --checks asan FILE' runs the same launches on the CPU and "
        "names the line; BLOCKSCOPE_SYNC=1 names the launch"
    )
