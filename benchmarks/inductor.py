"""Kernels that torch.compile writes, timed on a GPU: the same functions with Triton and Blockscope.

Inductor generates the kernels and tunes their configurations, each side by itself, so a row says
what a user of ``torch.compile`` would see. Each function and side has a process of its own. A group
of them compiles at once, and tunes one configuration after another; then one after another is
timed, alone on the GPU. A time is the median of 30 runs of the whole function as a CUDA graph, each
after the L2 cache was overwritten. Results are held to torch's own, by a bound for each dtype.

  python benchmarks/inductor.py                     all functions, about six minutes on 16 cores
  python benchmarks/inductor.py softmax sort        those with one of these words in their names
  python benchmarks/inductor.py --json out.json     the rows as JSON, too

Needs a GPU, torch with Inductor, the real Triton and Blockscope (in PYTHONPATH) in the Python that
runs it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requirements
from inductor_cases import BACKWARD, CASES, OPTIONS, define_cases

SIDES = ("triton", "blockscope")
GROUP = 14  # functions that compile at once
COMPILE_SECONDS = 200.0

# -- one function on one side ----------------------------------------------------------------------


def flat(value: Any) -> list[Any]:
    import torch.utils._pytree as pytree

    return [leaf for leaf in pytree.tree_leaves(value) if hasattr(leaf, "dtype")]


def largest_error(found: list[Any], right: list[Any]) -> float:
    """The largest error of an element in units of its dtype's bound; 0 for equal integers."""
    import torch

    bound = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float64: 1e-9}
    worst = 0.0
    for f, r in zip(found, right, strict=True):
        scale = max(1.0, float(r.double().abs().mean())) if r.is_floating_point() else 1.0
        error = (f.double() - r.double()).abs() / (r.double().abs() + scale)
        error = error.where((f != r) & ~(f.isnan() & r.isnan()), 0.0)
        if r.dtype in (torch.float8_e4m3fn, torch.int8):
            error = error / 100  # neighbours of a rounding may differ
        worst = max(worst, float(error.nan_to_num(nan=1.0).max()) / bound.get(r.dtype, 2e-4))
    return worst


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Waits until no other process is here."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def tune_alone(lock: str) -> None:
    """Lets Inductor time configurations while no other process uses the GPU."""
    from torch._inductor.runtime.benchmarking import benchmarker

    kind = type(benchmarker)
    time_one = kind.benchmark

    def benchmark(*arguments: Any, **options: Any) -> Any:
        with alone(lock):
            return time_one(*arguments, **options)

    kind.benchmark = benchmark


def worker(name: str, lock: str) -> None:
    """Compiles, says READY, waits for a line, times, prints a JSON line."""
    import torch
    import torch._inductor.config

    torch.manual_seed(0)
    tune_alone(lock)
    define_cases()
    function, inputs = CASES[name]()
    for key, value in OPTIONS[name].items():
        setattr(torch._inductor.config, key, value)
    compiled = torch.compile(function, fullgraph=True)
    leaves = [x for x in inputs if x.requires_grad]

    def run(f: Any) -> list[Any]:
        if name not in BACKWARD:
            with torch.no_grad():
                return flat(f(*inputs))
        out = f(*inputs)
        return [out, *torch.autograd.grad(out, leaves, seed(out))]

    seeds: dict[Any, Any] = {}

    def seed(out: Any) -> Any:
        if out.shape not in seeds:
            seeds[out.shape] = torch.randn(out.shape, device="cuda").to(out.dtype)
        return seeds[out.shape]

    found = run(compiled)
    eager = torch.compile(function, backend="eager") if "flex" in name else function
    with alone(lock):
        try:
            error = largest_error(found, run(eager))
        except torch.OutOfMemoryError:
            error = math.nan
        del found
        torch.cuda.empty_cache()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run(compiled)
        run(compiled)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        kept = run(compiled)
    print("READY", flush=True)
    sys.stdin.readline()
    flush = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
    times = []
    for _ in range(33):
        flush.zero_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    row = {"microseconds": statistics.median(times[3:]), "error": error, "outputs": len(kept)}
    print("ROW " + json.dumps(row), flush=True)


# -- all of them -----------------------------------------------------------------------------------


def start(name: str, side: str, folder: str) -> subprocess.Popen[str]:
    env = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/{side}-{name}",
        "TRITON_CACHE_DIR": f"{folder}/{side}-{name}-triton",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    arguments = ["--worker", name, "--folder", folder]
    command = [sys.executable, __file__, *arguments]
    if side == "blockscope":
        command = [sys.executable, "-m", "blockscope", "run", __file__, *arguments]
    return subprocess.Popen(
        command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=open(f"{folder}/{side}-{name}.txt", "w"),
    )  # fmt: skip


def lines_of(process: subprocess.Popen[str], word: str) -> str | None:
    """The first line that begins with ``word``; None where the process ends without one."""
    assert process.stdout
    for line in process.stdout:
        if line.startswith(word):
            return line[len(word) :].strip()
    return None


def group(names: list[str], folder: str) -> dict[str, dict[str, Any]]:
    """Compiles the functions at once, times them one by one."""
    processes = {(n, s): start(n, s, folder) for n in names for s in SIDES}
    rows: dict[str, dict[str, Any]] = {n: {} for n in names}
    end = time.monotonic() + COMPILE_SECONDS
    ready: dict[tuple[str, str], bool] = {}

    def wait(key: tuple[str, str]) -> None:
        ready[key] = lines_of(processes[key], "READY") is not None

    threads = [threading.Thread(target=wait, args=(key,), daemon=True) for key in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    for (name, side), process in processes.items():
        text = None
        if ready.get((name, side)):
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
            text = lines_of(process, "ROW")
        elif (name, side) not in ready:
            rows[name][side] = {"failed": f"not compiled in {COMPILE_SECONDS:.0f} s"}
        process.kill()
        process.wait()
        if text:
            rows[name][side] = json.loads(text)
        elif side not in rows[name]:
            said = Path(f"{folder}/{side}-{name}.txt").read_text().strip().splitlines()
            rows[name][side] = {"failed": "\n".join(said[-12:])}
    return rows


def show(name: str, row: dict[str, Any]) -> str:
    times = [row[side].get("microseconds") for side in SIDES]
    cells = [f"{t:10.1f}" if t else "    failed" for t in times]
    ratio = f"{times[0] / times[1]:6.2f}" if all(times) else "      "
    error, other = (row[side].get("error", 0.0) for side in reversed(SIDES))
    return f"{name:26} {'  '.join(cells)}  {ratio}" + (
        "  WRONG" if not error <= max(1.0, 2 * other) else ""
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only functions with one of these in their names")
    parser.add_argument("--json", help="the file for the rows")
    parser.add_argument("--folder", help="keeps what Inductor writes in this folder")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments.worker, f"{arguments.folder}/lock")
        return
    requirements.need_gpu()
    define_cases()
    names = [n for n in CASES if not arguments.words or any(w in n for w in arguments.words)]
    rows: dict[str, dict[str, Any]] = {}
    print(
        f"{'microseconds':26} {'Triton':>10}  {'Blockscope':>10}  Triton / Blockscope", flush=True
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or temporary
        os.makedirs(folder, exist_ok=True)
        for i in range(0, len(names), GROUP):
            found = group(names[i : i + GROUP], folder)
            rows |= found
            for name, row in found.items():
                print(show(name, row), flush=True)
            if arguments.json:
                Path(arguments.json).write_text(json.dumps(rows, indent=1))
    ratios = [
        row["triton"]["microseconds"] / row["blockscope"]["microseconds"]
        for row in rows.values()
        if all("microseconds" in row[s] for s in SIDES)
    ]
    if ratios:
        print(f"geometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.3f}")


if __name__ == "__main__":
    main()
