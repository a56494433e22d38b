"""Predictions for a GPU in a trace: each launch is compiled for it before it runs on the CPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blockscope import _core, knobs
from blockscope.checks import TraceRecording
from blockscope.cli.usage import UsageError
from blockscope.errors import TritonError
from blockscope.runtime import hooks
from blockscope.runtime.backends.cuda import gpu_names


def device_named(name: str) -> dict[str, Any]:
    """The GPU that ``--target`` names: a device ("h200"), or an architecture ("sm_90"), which the
    first device that has it stands for. One of which no device is known, and a GPU of which only
    the architecture is ("rtx4090"), has no peaks.

    Errors: UsageError for any other name.
    """
    devices = _core.gpu.devices()
    for device in devices:
        if name.lower() == device["alias"]:
            return dict(device)
    try:
        arch = gpu_names.target_named(name.lower())["arch"]
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not gpu_names.arch_of(name):  # a GPU is not the first device of its architecture
        for device in devices:
            if device["arch"] == arch:
                return dict(device)
    return {"name": "", "arch": arch, "bytes_per_second": 0, "peaks": []}


def names_with_peaks() -> list[str]:
    """What ``--target`` takes for the GPUs whose peaks are known."""
    return [device["alias"] for device in _core.gpu.devices() if device["peaks"]]


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
