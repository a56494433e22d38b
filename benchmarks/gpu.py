"""Blockscope, Triton and torch side by side on a GPU: the same kernel source, the same tiles.

Each row runs in a process that also runs the rows after it; when a side fails or hangs, its cell
says why and the next row goes on, in a new process if need be. Times are medians of single runs
between CUDA events, with the L2 cache overwritten before each, of sides in turn (torch, Triton,
Blockscope, Blockscope, Triton, torch, and again). Results are held to torch's in float32 or
float64.

  python benchmarks/gpu.py                       all rows, a few minutes
  python benchmarks/gpu.py --quick               one size of each, under a minute
  python benchmarks/gpu.py --rows matmul,launch  rows whose names contain one of these
  python benchmarks/gpu.py --sides blockscope,torch --json out.json
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requirements
from gpu_cases import SIDES, Case, Row, rows

HERE = Path(__file__).resolve().parent
ROW_SECONDS = 90  # a step that takes longer hangs
ROUNDS = 2  # each side is measured twice in a round

# -- measuring -------------------------------------------------------------------------------------


class Bench:
    """Times functions that launch work on the GPU."""

    def __init__(self, seconds: float) -> None:
        import torch

        self.torch = torch
        self.seconds = seconds
        self.flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def milliseconds(self, function: Callable[[], Any]) -> float:
        """The median of single runs, each after the L2 cache was overwritten."""
        cuda = self.torch.cuda
        for _ in range(3):
            function()
        cuda.synchronize()
        begin = time.perf_counter()
        function()
        cuda.synchronize()
        once = time.perf_counter() - begin
        runs = max(10, min(200, int(self.seconds / max(once, 1e-4))))
        events = [
            (cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)) for _ in range(runs)
        ]
        for start, end in events:
            self.flush.zero_()
            start.record()
            function()
            end.record()
        cuda.synchronize()
        return statistics.median(start.elapsed_time(end) for start, end in events)

    def host_microseconds(self, function: Callable[[], Any]) -> float:
        """What one call costs the host; the GPU has nothing to do."""
        samples = []
        for _ in range(30):
            self.torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(200):
                function()
            samples.append((time.perf_counter() - begin) / 200 * 1e6)
        return statistics.median(samples)


def load_kernels(side: str) -> Any:
    """gpu_kernels.py as a new module, with ``import triton`` meaning that side's compiler."""
    path = HERE / "gpu_kernels.py"
    load_kernels.count = getattr(load_kernels, "count", 0) + 1  # type: ignore[attr-defined]
    name = f"gpu_kernels_{side}_{load_kernels.count}"  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with triton_means(side):
        spec.loader.exec_module(module)
    return module


@contextmanager
def triton_means(side: str) -> Iterator[None]:
    """Inside, ``import triton`` gives the package of that side."""
    real = {
        name: sys.modules[name] for name in ("triton", "triton.language") if name in sys.modules
    }
    if side == "blockscope":
        import blockscope
        import blockscope.language

        sys.modules["triton"] = blockscope  # type: ignore[assignment]
        sys.modules["triton.language"] = blockscope.language
    try:
        yield
    finally:
        if side == "blockscope":
            for name in ("triton", "triton.language"):
                sys.modules.pop(name, None)
            sys.modules.update(real)


# -- one process -----------------------------------------------------------------------------------


def prepare(row: Row, side: str, bench: Bench, kernels: dict[str, Any]) -> tuple[Case, Any]:
    """One side of a row and what its line begins with: a wrong result is an error."""
    if side != "torch" and side not in kernels:
        kernels[side] = load_kernels(side)
    if row.measure == "compile":
        return row.make(side, lambda: load_kernels(side)), {}
    case = row.make(side, kernels.get(side))
    case.function()
    bench.torch.cuda.synchronize()
    if row.reference is None:
        return case, {}
    error = largest_error(case.result(), row.reference())
    if not error <= row.tolerance:
        raise ValueError(f"wrong: error {error:.2g}, allowed {row.tolerance:.2g}")
    return case, {"error": error}


def measure(row: Row, case: Case, bench: Bench) -> float:
    """Milliseconds; microseconds of what a call costs the host."""
    if row.measure == "host":
        return bench.host_microseconds(case.function)
    if row.measure == "gpu":
        return bench.milliseconds(case.function)
    times = []
    for _ in range(4):  # the first warms the compiler up
        begin = time.perf_counter()
        case.function()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times[1:])


def run_row(row: Row, sides: list[str], bench: Bench, kernels: dict[str, Any]) -> None:
    """Measure the sides of a row in turn, there and back: what runs later finds a hotter chip.

    Prints a line before each step, so that it is known where a process died, then the results.
    """
    cases: dict[str, Case] = {}
    lines: dict[str, dict[str, Any]] = {}
    times: dict[str, list[float]] = {side: [] for side in sides}

    def attempt(side: str, step: Callable[[], None]) -> None:
        tell({"begin": [row.name, side]})
        try:
            step()
        except Exception as error:
            lines[side] = {"failed": f"{type(error).__name__}: {str(error).strip()}"}

    def begin(side: str) -> None:
        cases[side], lines[side] = prepare(row, side, bench, kernels)

    for side in sides:
        attempt(side, lambda side=side: begin(side))
    # No compilation is measured twice: what is compiled for a second time is not cold.
    turns = sides if row.measure == "compile" else [*sides, *reversed(sides)] * ROUNDS
    for side in turns:
        if side in cases and "failed" not in lines[side]:
            attempt(side, lambda side=side: times[side].append(measure(row, cases[side], bench)))
    for side in sides:
        if "failed" not in lines[side]:
            lines[side]["us" if row.measure == "host" else "ms"] = statistics.median(times[side])
        line = {"row": row.name, "side": side, "work": row.work, "unit": row.unit}
        tell(line | lines[side])


def largest_error(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest magnitude."""
    expected = expected.double()
    scale = max(expected.abs().max().item(), 1e-30)
    return (found.double() - expected).abs().max().item() / scale


def work(options: argparse.Namespace) -> None:
    """The worker: a line of JSON before and after each side, until something breaks."""
    import torch

    torch.manual_seed(0)
    os.environ["BLOCKSCOPE_CACHE"] = "0"
    bench, kernels = Bench(options.seconds / (2 * ROUNDS)), {}
    done = {tuple(pair) for pair in json.loads(options.done)}
    for row in rows():
        sides = [
            side
            for side in row.sides
            if wanted(row, side, options) and (row.name, side) not in done
        ]
        run_row(row, sides, bench, kernels)
        try:
            torch.cuda.synchronize()
        except Exception:
            sys.exit(3)  # this process can use the GPU no more
        del row
        torch.cuda.empty_cache()
    tell({"end": True})


def wanted(row: Row, side: str, options: argparse.Namespace) -> bool:
    words = [word for word in options.rows.split(",") if word]
    if words and not any(word in row.name for word in words):
        return False
    if options.quick and not words and not row.is_quick:
        return False
    return side in options.sides.split(",")


def tell(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


# -- all processes ---------------------------------------------------------------------------------


def collect(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run workers until every row is done or has failed."""
    results: list[dict[str, Any]] = []
    while True:
        done = [[r["row"], r["side"]] for r in results]
        begun, ended = run_worker(options, done, results)
        if ended:
            return results
        known = [[r["row"], r["side"]] for r in results]
        if begun is not None and begun not in known:  # it broke in the middle of this one
            results.append({"row": begun[0], "side": begun[1], "failed": "the process died"})
        elif len(results) == len(done):
            sys.exit("the worker did not start; see above")


def run_worker(
    options: argparse.Namespace, done: list[Any], results: list[dict[str, Any]]
) -> tuple[Any, bool]:
    """One worker: what it began last, and whether it came to the end."""
    with tempfile.TemporaryDirectory() as cache:
        words = [sys.executable, __file__, "--worker", "--done", json.dumps(done)]
        words += ["--rows", options.rows, "--sides", options.sides]
        words += ["--seconds", str(options.seconds), *(["--quick"] if options.quick else [])]
        environment = {**os.environ, "TRITON_CACHE_DIR": cache}
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        begun, ended = None, False
        assert process.stdout is not None
        watchdog = Watchdog(process)
        for text in process.stdout:
            watchdog.feed()
            try:
                line = json.loads(text)
            except ValueError:
                print(text, end="", file=sys.stderr)
                continue
            begun, ended = line.get("begin", begun), ended or "end" in line
            if "row" in line:
                results.append(line)
                print(f"  {line['row']} | {line['side']}: {cell(line)}", file=sys.stderr)
        watchdog.stop()
        process.wait()
        return begun, ended


class Watchdog:
    """Kills a process that has been silent for ROW_SECONDS."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._timer = threading.Timer(ROW_SECONDS, process.kill)
        self._timer.start()

    def feed(self) -> None:
        self._timer.cancel()
        self._timer = threading.Timer(ROW_SECONDS, self._process.kill)
        self._timer.start()

    def stop(self) -> None:
        self._timer.cancel()


# -- the table -------------------------------------------------------------------------------------


def value_of(line: dict[str, Any]) -> float | None:
    """The measured time, in the row's own unit of time."""
    return line.get("us", line.get("ms"))


def cell(line: dict[str, Any] | None) -> str:
    if line is None:
        return "-"
    if "failed" in line:
        return line["failed"].splitlines()[-1][:160]
    if "us" in line:
        return f"{line['us']:.2f} us"
    text = f"{line['ms']:.3f} ms"
    if line.get("work"):
        per_second = line["work"] / line["ms"] * 1e3
        scaled = per_second / (1e12 if line["unit"] == "TFLOP/s" else 1e9)
        text += f" ({scaled:.0f} {line['unit']})"
    return text


def table(results: list[dict[str, Any]]) -> str:
    """Markdown; the last columns say how many times as fast Blockscope is as the others."""
    by_row: dict[str, dict[str, Any]] = {}
    for line in results:
        by_row.setdefault(line["row"], {})[line["side"]] = line
    heads = ["row", *SIDES, "of triton", "of torch"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name, sides in by_row.items():
        cells = [name, *(cell(sides.get(side)) for side in SIDES)]
        cells += [ratio(sides, "triton"), ratio(sides, "torch")]
        lines.append("| " + " | ".join(text.replace("|", "/") for text in cells) + " |")
    return "\n".join(lines)


def ratio(sides: dict[str, Any], other: str) -> str:
    ours, theirs = (value_of(sides.get(side) or {}) for side in ("blockscope", other))
    return f"{theirs / ours:.2f}" if ours and theirs else "-"


def about_machine() -> dict[str, Any]:
    import blockscope
    import torch

    found: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "blockscope": blockscope.__version__,
    }
    try:
        import triton

        found["triton"] = triton.__version__
    except ImportError:
        found["triton"] = None
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="", help="only rows whose name has one of these words")
    parser.add_argument("--sides", default=",".join(SIDES), help="torch, triton, blockscope")
    parser.add_argument("--quick", action="store_true", help="one size of each, short runs")
    parser.add_argument("--seconds", type=float, default=0.0, help="about how long to time a cell")
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--done", default="[]", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.worker:
        requirements.need_gpu()
    options.seconds = options.seconds or (0.05 if options.quick else 0.3)
    unknown = set(options.sides.split(",")) - set(SIDES)
    if unknown:
        parser.error(f"--sides has '{unknown.pop()}', expected some of {', '.join(SIDES)}")
    if options.worker:
        work(options)
        return
    results = collect(options)
    print(table(results))
    if options.json is not None:
        machine = about_machine()
        options.json.write_text(json.dumps({"machine": machine, "rows": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
