"""Predictions for a GPU in a trace: each launch is compiled for it before it runs on the CPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blockscope import _core, knobs
from blockscope.checks import TraceRecording
from blockscope.cli import gpu_names
from blockscope.cli.usage import UsageError
from blockscope.errors import TritonError
from blockscope.runtime import hooks


def device_named(name: str) -> dict[str, Any]:
    """The GPU that ``--target`` names: a device ("h200"), or an architecture ("sm_90"), which the
    first device that has it stands for. One of which no device is known, and a GPU of which only
    the architecture is ("rtx4090"), has no peaks.

    Errors: UsageError for any other name.
    """
    devices = _core.gpu.devices()
    name = f"sm_{name.lower()}" if name[:1].isdigit() else name.lower()
    for device in devices:
        if name == device["alias"]:
            return dict(device)
    if arch := gpu_names.arch_of(name):  # not the first device of it, which may be another
        return {"name": "", "arch": arch, "bytes_per_second": 0, "peaks": []}
    try:
        arch = _core.gpu.target_named(name)["arch"]
    except ValueError as error:
        raise UsageError(f"{error}, or a GPU such as {gpu_names.SHOWN}") from None
    for device in devices:
        if device["arch"] == arch:
            return dict(device)
    return {"name": "", "arch": arch, "bytes_per_second": 0, "peaks": []}


@contextmanager
def predicted(recording: TraceRecording, device: dict[str, Any]) -> Iterator[None]:
    """Inside, what each launch would do on a GPU goes into the recording.

    A kernel that cannot be compiled for it still runs, and is recorded without.
    """
    told: set[str] = set()

    def predicting(
        run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
    ) -> Any:
        if not warmup:
            try:
                with knobs.runtime.scope():
                    knobs.runtime.interpret = False
                    options = {**kwargs, "arch": device["arch"]}
                    kernel = run(fn, grid, args, options, warmup=True)
            except TritonError as error:
                recording.handle.forget_prediction()
                text = f"kernel '{fn.__name__}' is not predicted for {device['arch']}: {error}"
                if text not in told:
                    told.add(text)
                    print(text, file=sys.stderr)
            else:
                recording.handle.predict(
                    kernel.data["memory_plan"],
                    target=device["arch"],
                    device=device["name"],
                    warps=kernel.metadata.num_warps,
                    bytes_per_second=device["bytes_per_second"],
                    peaks=device["peaks"],
                    dots_are_tf32='input_precision = "tf32' in kernel.asm["tl"],
                )
        return run(fn, grid, args, kwargs, warmup=warmup)

    with hooks.intercepted(predicting):
        yield
