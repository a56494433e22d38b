"""``blockscope compile``: what each kernel of a script becomes on a GPU, and what it costs."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from blockscope import _core
from blockscope.cli.compiled_launches import Result, compiled_launches
from blockscope.cli.json_output import JsonOutput
from blockscope.cli.predictions import device_named
from blockscope.cli.script import Runs
from blockscope.cli.usage import UsageError, ending_unwritten
from blockscope.errors import OutOfResources
from blockscope.runtime.backends.cuda.notes import note_text, warnings_in
from blockscope.runtime.backends.cuda.occupancy import Occupancy, occupancy, registers_of_cta
from blockscope.runtime.options import LAUNCH_OPTIONS

STAGES = {"tl": "tl", "plan": "plan", "tlg": "tlg", "llir": "ll", "ptx": "ptx", "cubin": "cubin"}
"""The stages that ``--emit`` takes, each with the suffix of its files."""


class Printer:
    """Prints results as they come, and keeps count of the kernels that cannot run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.failures = self._count = 0

    def __call__(self, result: Result) -> None:
        with ending_unwritten():
            self._print(result)

    def _print(self, result: Result) -> None:
        self._count += 1
        error = result.error or shortage(result.kernel)
        self.failures += error is not None
        heading = f"{result.fn.__name__}({result.signature}) at {result.place} for {result.target}"
        if result.kernel is not None:
            heading += f", {shape(result.kernel)}"
        if error is not None:
            print(f"{heading}: error: {error}")
        if result.kernel is not None:
            if error is None:
                print(f"{heading}: {cost(result)}")
            self._print_notes(result.kernel)
            if self._options.time:
                print(f"  time: {times(result.kernel)}")
        if self._options.emit is not None:
            self._emit(result)
        sys.stdout.flush()

    def finish(self) -> None:
        """What is printed when the script has ended."""
        if self._count == 0:
            print("no kernel was launched: nothing was compiled", file=sys.stderr)

    def _print_notes(self, kernel: Any) -> None:
        shown = kernel.notes if self._options.notes else warnings_in(kernel.notes)
        for note in shown:
            print(note_text(note))
        for line in kernel.warnings:
            if "serialized" not in line:  # which is a note, with the user's line
                print(f"  ptxas: {line}")
        if rest := len(kernel.notes) - len(shown):
            them = "it" if rest == 1 else "them"
            print(f"  {_counted(rest, 'note')} not shown: --notes shows {them}")

    def _emit(self, result: Result) -> None:
        stage = self._options.emit
        if result.kernel is None and stage != "tl":
            return
        text = result.ir if stage == "tl" else result.kernel.asm[stage]
        if self._options.output is None:
            print(text.rstrip("\n") + "\n")
            return
        stem = _core.gpu.file_stem(result.fn.__name__)
        name = f"{self._count:02}-{stem}.{result.target}.{STAGES[stage]}"
        data = text if isinstance(text, bytes) else text.encode()
        try:
            Path(self._options.output, name).write_bytes(data)
        except OSError as error:
            raise UsageError(f"'{error.filename}' cannot be written: {error.strerror}") from None


class JsonPrinter:
    """Prints one array when the script has ended, with an object for each kernel."""

    def __init__(self) -> None:
        self._output = JsonOutput()
        self._kernels: list[dict[str, Any]] = []
        self.failures = 0

    def __call__(self, result: Result) -> None:
        kernel, code = result.kernel, result.fn.fn.__code__
        error = result.error or shortage(kernel)
        self.failures += error is not None
        data: dict[str, Any] = {
            "kernel": result.fn.__name__,
            "signature": result.signature,
            "file": code.co_filename,
            "line": code.co_firstlineno,
            "target": result.target,
            "error": None if error is None else str(error),
        }
        if kernel is not None:
            data["num_warps"] = kernel.metadata.num_warps
            data["num_stages"] = kernel.metadata.num_stages
            data["num_ctas"] = kernel.metadata.num_ctas
            data["maxnreg"] = kernel.metadata.maxnreg
            data["registers"] = kernel.data["registers"]
            data["spill_bytes"] = kernel.data["spill_bytes"]
            data["shared_bytes"] = kernel.metadata.shared
            data["occupancy"] = fit(kernel).share
            data["notes"] = kernel.notes
        self._kernels.append(data)

    def finish(self) -> None:
        self._output.write(json.dumps(self._kernels, indent=2))


def fit(kernel: Any) -> Occupancy:
    metadata, target = kernel.metadata, _core.gpu.target_of_capability(kernel.target.arch)
    return occupancy(target, kernel.data["registers"], metadata.num_warps, metadata.shared)


def shortage(kernel: Any) -> OutOfResources | None:
    """What a kernel needs more of than a CTA of its target can have."""
    if kernel is None:
        return None
    target = _core.gpu.target_of_capability(kernel.target.arch)
    if kernel.metadata.shared > target["shared_bytes"]:
        return OutOfResources(
            kernel.metadata.shared, target["shared_bytes"], "shared memory",
            has_stages="ring: " in kernel.asm["plan"],
        )  # fmt: skip
    registers = registers_of_cta(target, kernel.data["registers"], kernel.metadata.num_warps)
    if registers > target["registers"]:
        return OutOfResources(registers, target["registers"], "registers")
    return None


def shape(kernel: Any) -> str:
    """The options that distinguish kernels of one signature: warps, and what is not as usual. The
    CTAs are those that the program has: a note says where more were asked for."""
    metadata = kernel.metadata
    words = [_counted(metadata.num_warps, "warp")]
    if metadata.num_stages != LAUNCH_OPTIONS["num_stages"]:
        words.append(_counted(metadata.num_stages, "stage"))
        # Of the loop that has fewest, where memory is short; with the usual number a note says so.
        short = [note["found"] for note in kernel.notes if note["code"] == "fewer-buffers"]
        if short:
            words[-1] += f" ({_counted(min(short), 'buffer')})"
    if metadata.num_ctas != LAUNCH_OPTIONS["num_ctas"]:
        words.append(_counted(metadata.num_ctas, "CTA"))
    if metadata.maxnreg is not None:
        words.append(f"maxnreg {metadata.maxnreg}")
    return ", ".join(words)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def cost(result: Result) -> str:
    """Registers, spills, shared memory and occupancy of a kernel, in words."""
    kernel = result.kernel
    data, metadata = kernel.data, kernel.metadata
    spills = f"{kernel.n_spills * 4} bytes spilled" if kernel.n_spills else "no spills"
    text = f"{data['registers']} registers, {spills}, {metadata.shared} bytes of shared memory"
    fits = fit(kernel)
    if fits.ctas == 0:
        return f"{text}, does not fit a multiprocessor: too little of its {fits.limit}"
    return (
        f"{text}, occupancy {fits.share:.0%} "
        f"({fits.ctas} CTA{'s' if fits.ctas > 1 else ''} a multiprocessor, limit: {fits.limit})"
    )


def times(kernel: Any) -> str:
    """How long each stage of the compiler took."""
    stages = kernel.data["times"]
    words = [f"{stage} {ns / 1e6:.1f}" for stage, ns in stages]
    return f"{' + '.join(words)} = {sum(ns for _, ns in stages) / 1e6:.1f} ms"


def targets_from(text: str) -> list[str]:
    """``"sm_80,h200"`` as names of targets. Errors: UsageError for an unknown one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError("--target names no target, expected one such as sm_90a")
    return list(dict.fromkeys(device_named(name)["arch"] for name in names))


def check_tools() -> None:
    """Errors: UsageError when what assembles PTX is missing: once, not for each kernel."""
    from blockscope.runtime.backends.cuda import tools

    for name, path in (("ptxas", tools.ptxas()), ("libdevice", tools.libdevice())):
        if not path:
            raise UsageError(
                f"{name} was not found; 'pip install nvidia-cuda-nvcc' has it, or set CUDA_HOME"
            )
    if shutil.which(tools.ptxas()) is None:
        raise UsageError(
            f"TRITON_PTXAS_PATH is '{tools.ptxas()}', expected a program that can be run"
        )


def compile_script(script: Runs, options: argparse.Namespace) -> int:
    """Run the script; its status, or 1 when a kernel cannot be compiled."""
    targets = targets_from(options.target)
    check_tools()
    if options.emit == "cubin" and options.output is None:
        raise UsageError("--emit cubin gives binary files; name a folder for them with -o FOLDER")
    if options.json and (options.emit is not None or options.output is not None or options.time):
        raise UsageError("--json prints what it has as JSON, without --emit, -o and --time")
    if options.output is not None:
        options.emit = options.emit or "ptx"
        try:
            Path(options.output).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"'{options.output}' is no folder: {error.strerror}") from None
    printer = JsonPrinter() if options.json else Printer(options)
    with compiled_launches(targets, printer):
        status = script.run()
    printer.finish()
    return status or int(printer.failures > 0)
