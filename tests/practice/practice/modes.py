"""What is done with a case in each mode; each gives what is wrong, in words, or nothing, or what a
row of the results has in addition to the time."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

from practice import imports
from practice.case import Case, difference
from practice.found_by_all import FOUND

MODES = ("cpu", "interpreter", "check", "all-checks", "gpu-compile", "ptx", "gpu", "verify")
GPU = "sm_90a"
TUNED = 6
"""So many of an autotuned kernel's configurations are compiled, or all if none of them can be."""


def made(case: Case, root: Path, size: str, device: str) -> tuple[Any, Any]:
    """The functions ``run`` and ``want`` of a case, with its inputs made."""
    import torch

    torch.manual_seed(0)
    file = imports.module(root, case.repository, case.file)
    return case.build(file, device, **getattr(case, size))


def compared(case: Case, root: Path, size: str, device: str) -> str:
    """Modes cpu, interpreter and gpu: the results are right. A launch on the CPU ends at an access
    outside of a tensor."""
    run, want = made(case, root, size, device)
    if case.finds.startswith("oob") and device == "cpu":
        from blockscope.errors import SanitizerError

        try:
            run()
        except SanitizerError as error:
            codes = {finding["code"] for finding in error.findings}
            right = codes <= set(case.finds.split(","))
            return "" if right else f"found {sorted(codes)}, expected {case.finds}"
        return f"found nothing, expected {case.finds}"
    return difference(case, run(), want())


def checked(case: Case, root: Path, size: str, device: str) -> str:
    """Mode check: nothing is found, and the results are right."""
    import blockscope

    run, want = made(case, root, size, device)
    with blockscope.check("asan,tsan") as report:
        got = run()
    codes = {finding.code for finding in report.findings}
    if case.finds:
        right = codes == set(case.finds.split(","))
        return "" if right else f"found {sorted(codes)}, expected {case.finds}"
    if report.findings:
        first = report.findings[0]
        return f"{len(report.findings)} findings, first {first.code}: {report.text()}"
    return difference(case, got, want())


def checked_by_all(case: Case, root: Path, size: str, device: str) -> str:
    """Mode all-checks: no check finds more than notes, also while the results are read."""
    import blockscope

    run, want = made(case, root, size, device)
    with blockscope.check("all") as report:
        problem = difference(case, run(), want())
    codes = {finding.code for finding in report.findings if finding.severity != "note"}
    by_all, _ = FOUND.get(case.id, ("", ""))
    expected = {code for code in f"{case.finds},{by_all}".split(",") if code}
    if codes != expected:
        return f"found {sorted(codes)}, expected {sorted(expected)}: {report.text()}"
    return "" if case.finds else problem


def compiled(case: Case, root: Path, size: str, device: str) -> str:
    """Mode gpu-compile: every launch has a kernel for a GPU; nothing is run."""
    refused: dict[str, str] = {}
    kernels: set[str] = set()
    run, _ = made(case, root, size, device)
    with _compiling(kernels, refused):
        try:
            run()
        except Exception:
            if not kernels and not refused:
                raise  # what stands behind a launch may need its results
    wrong = [f"{name}: {why}" for name, why in refused.items() if name not in kernels]
    return "; ".join(wrong) if wrong or kernels else "nothing was launched"


@contextmanager
def _compiling(kernels: set[str], refused: dict[str, str]) -> Iterator[None]:
    """Inside, launches are compiled for a GPU and do not run. Of an autotuned kernel some
    configurations are compiled; one must, and the first one that does is taken."""
    from blockscope.cli.compile import shortage
    from blockscope.runtime import hooks
    from blockscope.runtime.tried_configs import SKIPPED

    with _tuned_by_compiling(TUNED, refused) as is_tuning:

        def compiling(run: Any, fn: Any, args: Any, grid: Any, kwargs: Any, warmup: bool) -> Any:
            try:
                kernel = run(fn, grid, args, {**kwargs, "arch": GPU}, warmup=True)
                if short := shortage(kernel):
                    raise short
            except Exception as error:
                if not (is_tuning() and isinstance(error, SKIPPED)):
                    refused.setdefault(fn.__name__, f"{type(error).__name__}: {error}")
                raise  # some files have an autotuner of their own, which goes on
            kernels.add(fn.__name__)
            return kernel

        with hooks.intercepted(compiling):
            yield


@contextmanager
def _tuned_by_compiling(most: int, refused: dict[str, str]) -> Iterator[Callable[[], bool]]:
    """Inside, so many of an autotuned kernel's configurations are compiled, and the first one that
    can be is taken; gives what says whether that goes on now."""
    from blockscope import _core
    from blockscope.errors import AutotunerError
    from blockscope.runtime.autotuner import Autotuner
    from blockscope.runtime.tried_configs import SKIPPED

    assert _core.gpu.target_named(GPU)
    tune, is_tuning = Autotuner._tune, False

    def tuning(self: Any, args: Any, kwargs: Any, configs: Any, key: Any) -> None:
        nonlocal is_tuning
        is_tuning, last = True, None
        some = configs[:: max(1, len(configs) // most)]
        try:
            for config in [*some, *(config for config in configs if config not in some)]:
                if key in self.cache and (most == 1 or config not in some):
                    break
                try:
                    self._kernel_call(args, {**kwargs, "warmup": True}, config)()
                    self.cache.setdefault(key, config)
                except SKIPPED as error:
                    last = error
        finally:
            is_tuning = False
        if key not in self.cache:
            name = self.base_fn.__name__
            refused[name] = f"none of {len(configs)} configurations: {last}"
            raise AutotunerError(str(last)) from last

    Autotuner._tune = tuning
    try:
        yield lambda: is_tuning
    finally:
        Autotuner._tune = tune


def executed(case: Case, root: Path, size: str, device: str) -> str | dict[str, Any]:
    """Mode ptx: the results are right where launches are compiled for a GPU and run by a machine
    for PTX; the row has the numbers of those that ran there, of which some programs did, and why
    others did not."""
    import pytest

    from practice import on_machine

    if case.finds:
        return {"status": "skipped", "why": f"the kernel is wrong: {case.finds}"}
    run, want = made(case, root, size, device)
    backend = on_machine.PracticeBackend(GPU, case)
    with pytest.MonkeyPatch.context() as patches, _tuned_by_compiling(1, {}):
        on_machine.machine_backend.use(patches, backend)
        got = run()
    ran, sampled, left = len(backend.ran), backend.sampled, backend.skipped
    row = {"status": "passed", "why": "", "ran": ran, "sampled": sampled, "left": left}
    if problem := difference(case, got, want()):
        return problem
    if not ran and not sampled:
        status = "skipped" if left else "failed"
        return {**row, "status": status, "why": "; ".join(left) or "nothing was launched"}
    return row


def verified(case: Case, root: Path, size: str, device: str) -> str | dict[str, Any]:
    """Mode verify: each launch gives the same on the CPU and on the GPU, as ``blockscope verify``
    compares them, and the results are right."""
    from blockscope.cli.verify import verifier_of_this_machine

    if case.finds:
        return {"status": "skipped", "why": f"the kernel is wrong: {case.finds}"}
    run, want = made(case, root, size, device)
    verifier, said = verifier_of_this_machine(), io.StringIO()
    with redirect_stderr(said), verifier.watching():
        got = run()
    if verifier.count():
        return f"{verifier.summary()}\n{said.getvalue()}"
    if not verifier.compared:
        return {"status": "skipped", "why": said.getvalue() or "nothing was launched"}
    return difference(case, got, want())


RUN = {
    "cpu": compared,
    "interpreter": compared,
    "check": checked,
    "all-checks": checked_by_all,
    "gpu-compile": compiled,
    "ptx": executed,
    "gpu": compared,
    "verify": verified,
}
"""The function of each mode."""
SIZE = {"gpu-compile": "production"}
"""The size of a mode's inputs; ``small`` in others."""
