"""Triton's tutorials on a GPU, by Triton and by Blockscope, side by side.

FOLDER has the files, which are not in the tree. Each runs unmodified, in a process for each side,
and its results are held to torch's as in tests/tutorials.py. Benchmarks run at the middle and the
last of their sizes, for what their file runs by Triton; a time is the median between events, the L2
cache overwritten before each call. What files do on a CPU they do on the GPU here, since Triton has
no CPU. Tutorial 09 measures by a profiler, tutorial 10 asks for a newer GPU: of these the results
are compared, and of 09 the functions are timed.

  python benchmarks/gpu_tutorials.py FOLDER [NUMBER ...]
"""

from __future__ import annotations

import ast
import fcntl
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import requirements  # noqa: E402
from tutorials import CHECKS  # noqa: E402

SIDES = ("triton", "blockscope")
MARK = "TUTORIAL "
SECONDS = 420
PROCESSES = 1  # more of them change the times of each other
LIBRARIES = ("torch", "cublas", "flash", "apex", "cpu")  # in names of what is not by Triton
RUNS, FLUSHED_BYTES = 15, 256 << 20


def milliseconds(run: Callable[[], Any]) -> float:
    """Median time of a call on the GPU, with a cold L2. One process at a time."""
    import torch

    run()  # compiled and tuned
    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.int8, device="cuda")
    times = []
    with open(os.environ["TUTORIAL_LOCK"], "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(RUNS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flushed.zero_()
            begin.record()
            run()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end))
    return median(times[2:])


@contextmanager
def on_the_gpu(times: dict[str, float]) -> Iterator[None]:
    """Tensors of the CPU are on the GPU; benchmarks of two sizes, whose times come by name."""
    import torch
    import triton
    import triton.testing
    from torch.overrides import TorchFunctionMode

    class OnTheGpu(TorchFunctionMode):
        def __torch_function__(
            self, function: Any, kinds: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = dict(kwargs or {})
            if str(kwargs.get("device", "")) == "cpu":
                kwargs["device"] = "cuda"
            return function(*args, **kwargs)

    class Benchmark(triton.testing.Benchmark):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs["x_vals"] = [kwargs["x_vals"][len(kwargs["x_vals"]) // 2], kwargs["x_vals"][-1]]
            kept = [
                (value, name, style)
                for value, name, style in zip(
                    kwargs["line_vals"], kwargs["line_names"], kwargs["styles"], strict=False
                )
                if not any(library in str(value).lower() for library in LIBRARIES)
            ]
            kwargs["line_vals"], kwargs["line_names"], kwargs["styles"] = zip(*kept, strict=True)
            super().__init__(*args, **kwargs)

    class Mark:
        def __init__(self, fn: Callable[..., Any], benchmarks: Any) -> None:
            self.fn = fn
            self.benchmarks = benchmarks if isinstance(benchmarks, list) else [benchmarks]

        def run(self, **options: Any) -> None:
            given = {name: options[name] for name in ("device",) if name in options}
            for benchmark in self.benchmarks:
                for x in benchmark.x_vals:
                    sizes = dict.fromkeys(benchmark.x_names, x)
                    for line in benchmark.line_vals:
                        current["name"] = f"{benchmark.plot_name}, {x}, {line}"
                        self.fn(**sizes, **{benchmark.line_arg: line}, **benchmark.args, **given)

    def time_it(run: Callable[[], Any], *_: Any, quantiles: Any = None, **__: Any) -> Any:
        times[current["name"]] = found = milliseconds(run)
        return [found] * len(quantiles) if quantiles else found

    current = {"name": ""}
    triton.testing.Benchmark = Benchmark
    triton.testing.perf_report = lambda benchmarks: lambda fn: Mark(fn, benchmarks)
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = time_it
    driver = triton.runtime.driver
    if not hasattr(driver, "get_active_gpus"):  # of a fork, which 01 is written for
        driver.set_active_to_cpu = driver.set_active_to_gpu = lambda: None
        driver.get_active_gpus = lambda: [0]
    torch.set_default_device("cuda")
    triton.set_allocator(
        lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda")
    )
    with OnTheGpu():
        yield


def time_products(names: dict[str, Any], times: dict[str, float]) -> None:
    """The functions of tutorial 09, with the sizes of its benchmark."""
    import torch

    for k in (512, 4096):
        a = torch.randn((8192, k), dtype=torch.float16)
        b = torch.randn((8192, k), dtype=torch.float16)
        calls: dict[str, tuple[Any, ...]] = dict.fromkeys(("matmul", "matmul_persistent"), (a, b.T))
        for name in ("matmul_tma", "matmul_tma_persistent", "matmul_descriptor_persistent"):
            calls[name] = (a, b, False)
        for name, given in calls.items():
            times[f"{name}, {k}"] = milliseconds(partial(names[name], *given))


def run_here(side: str, path: Path) -> None:
    """One tutorial by one side: prints its times, and what is wrong."""
    if side == "blockscope":
        import blockscope

        blockscope.install_as_triton()
    import torch

    check, run_name, _ = CHECKS[path.name[:2]]
    if path.name[:2] == "06":
        run_name = "__main__"
    torch.manual_seed(0)
    os.environ["MPLBACKEND"] = "Agg"
    module = types.ModuleType(run_name)
    module.__file__ = str(path)
    sys.modules[run_name] = module
    times: dict[str, float] = {}
    try:
        with on_the_gpu(times):
            exec(compile(ast.parse(path.read_text()), str(path), "exec"), module.__dict__)
            check(module.__dict__)
            if path.name[:2] == "09":
                time_products(module.__dict__, times)
    finally:
        print(MARK + json.dumps(times), flush=True)


def run_side(side: str, path: Path, folder: Path) -> tuple[dict[str, float], str]:
    """Times by name, and why it failed."""
    here = folder / f"{side}-{path.stem}"
    here.mkdir()
    environment = {**os.environ, "TUTORIAL_LOCK": str(folder / "lock")}
    command = [sys.executable, __file__, "--here", side, str(path)]
    try:
        done = subprocess.run(
            command, cwd=here, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return {}, f"not done after {SECONDS} s"
    times: dict[str, float] = {}
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            times = json.loads(line.removeprefix(MARK))
    return times, "" if done.returncode == 0 else "\n".join(done.stderr.splitlines()[-8:])


def main() -> int:
    if not sys.argv[1:] or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if sys.argv[1:] else 2
    folder, *numbers = sys.argv[1:]
    if folder == "--here":
        run_here(numbers[0], Path(numbers[1]))
        return 0
    paths = sorted(path for path in Path(folder).glob("*.py") if re.match(r"\d\d-", path.name))
    if not paths:
        requirements.stop(f"'{folder}' has no tutorials, files such as 01-vector-add.py")
    requirements.need_gpu()
    paths = [path.resolve() for path in paths if not numbers or path.name[:2] in numbers]
    jobs = [(side, path) for path in paths for side in SIDES]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(PROCESSES) as pool:
        found = dict(
            zip(
                jobs,
                pool.map(lambda job: run_side(job[0], job[1], Path(scratch)), jobs),
                strict=True,
            )
        )
    ratios = []
    for path in paths:
        (theirs, their_why), (ours, our_why) = (found[side, path] for side in SIDES)
        words = [f"{side} {'FAILED' if found[side, path][1] else 'right'}" for side in SIDES]
        print(f"{path.name}: {', '.join(words)}")
        for side, why in zip(SIDES, (their_why, our_why), strict=True):
            if why:
                print(f"    {side}: " + why.replace("\n", "\n      "))
        for name in dict.fromkeys([*theirs, *ours]):
            pair = [times.get(name) for times in (theirs, ours)]
            shown = " ".join(f"{ms:9.4f} ms" if ms else f"{'-':>12}" for ms in pair)
            ratio = pair[0] / pair[1] if pair[0] and pair[1] else math.nan
            ratios.append(ratio)
            print(f"  {shown} {ratio:5.2f}  {name}")
    known = [ratio for ratio in ratios if ratio == ratio]
    if known:
        mean = math.exp(sum(map(math.log, known)) / len(known))
        print(f"geometric mean {mean:.3f} of {len(known)}")
    return 1 if any(why for _, why in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
