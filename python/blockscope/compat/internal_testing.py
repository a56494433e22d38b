"""``triton._internal_testing``: what tests of public libraries ask of it: where they run, and
functions that run in a process of their own.

A kernel that is stepped has no target, as in Triton.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockscope.driver import driver
from blockscope.host import is_interpreting


def is_interpreter() -> bool:
    return is_interpreting()


def get_current_target() -> Any:
    return None if is_interpreting() else driver.active.get_current_target()


def _capability() -> int:
    """Of the GPU that kernels run on, as 90; 0 on the CPU and step by step."""
    target = get_current_target()
    return int(target.arch) if target is not None and target.backend == "cuda" else 0


def is_cuda() -> bool:
    return _capability() > 0


def is_cpu() -> bool:
    target = get_current_target()
    return target is not None and target.backend == "cpu"


def is_ampere_or_newer() -> bool:
    return _capability() >= 80


def is_hopper() -> bool:
    return _capability() // 10 == 9


def is_hopper_or_newer() -> bool:
    return _capability() >= 90


def is_blackwell() -> bool:
    return _capability() // 10 in (10, 11)


def is_blackwell_ultra() -> bool:
    return _capability() == 103


def is_rubin() -> bool:
    return _capability() == 107


def is_sm12x() -> bool:
    return _capability() // 10 == 12


def supports_tma(byval_only: bool = False) -> bool:
    """Descriptors run everywhere here, so those who ask for a GPU that has TMA mean the GPU."""
    return is_hopper_or_newer()


def _is_not_here() -> bool:
    """There is no back end for AMD's and Intel's GPUs."""
    return False


is_hip = is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = is_hip_rdna = _is_not_here
is_hip_cdna3_or_newer = is_hip_gfx1250 = is_hip_rdna3 = is_hip_rdna4 = is_xpu = _is_not_here


@dataclass
class ProcessResult:
    """How a function ended in a process of its own: what it raised, None for nothing, and what the
    process wrote to its standard error."""

    exc: BaseException | None
    driver_stderr_output: str


def run_in_process(
    client_fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    env: dict[str, str] | None = None,
) -> ProcessResult:
    """Call a function in a process that nothing has run in, with these environment variables.

    Errors: RuntimeError for a process that died.
    """
    context = multiprocessing.get_context("forkserver")
    results = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        errors = Path(folder, "stderr")
        errors.touch()
        given = (client_fn, results, args, kwargs or {}, env or {}, str(errors))
        process = context.Process(target=_run_in_process_worker, args=given)
        process.start()
        while process.is_alive() and results.empty():
            process.join(0.02)
        has_ended = not results.empty()
        caught = results.get() if has_ended else None  # before the end: a long text fills the pipe
        process.join()
        text = errors.read_text(errors="replace")
    if not has_ended:
        raise RuntimeError(f"the process died with exit code {process.exitcode}:\n{text}")
    return ProcessResult(caught, text)


def _run_in_process_worker(
    client_fn: Callable[..., Any],
    results: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    env: dict[str, str] | None,
    stderr_file: str,
) -> None:
    os.environ.update(env or {})
    caught = None
    with _stderr_to(stderr_file):
        try:
            client_fn(*args, **(kwargs or {}))
            if is_cuda():  # what the GPU still does may fail
                driver.active.synchronize()
        except Exception as error:
            caught = error
    results.put(caught)


@contextlib.contextmanager
def _stderr_to(path: str) -> Iterator[None]:
    """What the process, C code too, writes to its standard error goes to a file."""
    before = os.dup(2)
    with Path(path).open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
