"""One side of ``foreign.py``: compiles or times what the cases of a file launch.

Runs in Triton's Python or in Blockscope's. A case file has functions ``case_NAME()``, each of which
makes tensors with ``randn``, ``randint`` and ``empty`` of this module and launches kernels. In
place of a file, CLONES:MODULE takes the cases of tests/practice/practice/cases/MODULE.py, whose
repository is in the folder CLONES: of production size where they run, else of FOREIGN_SIZE (small).
CLONES:MODULE:K:N takes the K-th of N parts of them. Prints ``MARK`` and one JSON object for each
kernel (static, compile) or case (timed, profile). One process at a time times: FOLDER/gpu.lock.
``compile`` is ``static`` at production size, with no cache of compiled kernels. ``profile``
launches once more what a case launched, alone between cudaProfilerStart and cudaProfilerStop.
Kernels alone are launched again, on what they left: one that counts on in its input, as
triton_kernels/top_k, then goes out of bounds, on both sides.

  python foreign_worker.py static|compile|timed|profile triton|blockscope FILE FOLDER [NAME,...]
"""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import json
import os
import re
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

CAPABILITY = 90
MODE = sys.argv[1] if len(sys.argv) > 1 else "timed"
IS_STATIC = MODE in ("static", "compile")  # nothing runs
SIZE = os.environ.get("FOREIGN_SIZE", "small") if MODE == "static" else "production"
DEVICE = "cpu" if IS_STATIC else "cuda"
MARK = "FOREIGN "
REPLAYS, ROUNDS = 20, 7
SAMPLES = 256  # of a tensor
#: Of an autotuned kernel so many are tried, from all over its list; 1: the first one is taken.
CONFIGS = int(os.environ.get("FOREIGN_CONFIGS", "1"))
LONG_MICROSECONDS = 20e3  # of one replayed graph: longer cases are replayed less often
_open = ExitStack()  # until the process ends


def empty(*shape: int, dtype: Any = torch.float16) -> Any:
    return torch.empty(shape, dtype=dtype, device=DEVICE)


def randn(*shape: int, dtype: Any = torch.float16, scale: float = 1.0) -> Any:
    """Numbers, where a kernel will run."""
    if IS_STATIC:
        return empty(*shape, dtype=dtype)
    return (torch.randn(shape, device=DEVICE) * scale).to(dtype)


def randint(low: int, high: int, *shape: int, dtype: Any = torch.int32) -> Any:
    if IS_STATIC:
        return empty(*shape, dtype=dtype)
    return torch.randint(low, high, shape, device=DEVICE).to(dtype)


def full(value: float, *shape: int, dtype: Any = torch.float32) -> Any:
    return (
        empty(*shape, dtype=dtype)
        if IS_STATIC
        else torch.full(shape, value, dtype=dtype, device=DEVICE)
    )


class Compilation:
    """Processor time, in seconds, and memory, in bytes, of one compilation in this process. What
    the compiler runs as processes of its own is ptxas."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self._before = self._used()
        self._resident = _status_bytes("VmRSS")

    def _used(self) -> tuple[float, float]:
        uses = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        own, children = (use.ru_utime + use.ru_stime for use in uses)
        return own, children

    def data(self) -> dict[str, Any]:
        own, children = (b - a for a, b in zip(self._before, self._used(), strict=True))
        grown = _status_bytes("VmHWM") - self._resident
        return {"own_seconds": own, "ptxas_seconds": children, "grown_bytes": grown}


def _status_bytes(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


class Launches:
    """What a case launches: compiled for the GPU and left there, or run and kept."""

    def __init__(self, sink: Callable[[str, bytes, dict[str, Any]], None]) -> None:
        self.sink = sink
        self.kept: list[Callable[[], Any]] = []
        self.tensors: list[Any] = []
        self.compiled: list[Any] = []  # kernels, each once

    def compile(self, name: str, launch: Callable[[], Any], stages: tuple[str, ...] = ()) -> Any:
        """Compile what ``launch`` gives, and tell of it, with these stages, if it is new."""
        stage_seconds: dict[str, float] = {}

        def listener(*, times: Any, **_: Any) -> None:
            for stage, micros in [("front", times.ir_initialization), *times.lowering_stages]:
                stage_seconds[stage] = stage_seconds.get(stage, 0.0) + micros * 1e-6

        if MODE == "compile":
            import triton

            triton.knobs.compilation.listener = listener
        begin, used = time.perf_counter(), Compilation()
        kernel = launch()
        data = {"seconds": time.perf_counter() - begin, **used.data(), "stages": stage_seconds}
        if MODE == "compile" and any(kernel is known for known in self.compiled):
            return kernel  # of an earlier launch
        self.compiled.append(kernel)
        data["shared"] = kernel.metadata.shared
        data |= {stage: kernel.asm[stage] for stage in stages}
        self.sink(name, kernel.asm["cubin"], data)
        return kernel

    def keep(self, launch: Callable[[], Any], args: Any, kwargs: dict[str, Any]) -> None:
        self.kept.append(launch)
        self.tensors += [
            value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)
        ]


def use_triton(launches: Launches) -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    class NoUtils:
        def get_device_properties(self, _device: int) -> dict[str, int]:  # of an H100
            return {
                "max_shared_mem": 232448,
                "max_num_regs": 65536,
                "multiprocessor_count": 132,
                "warpSize": 32,
                "sm_clock_rate": 1980000,
                "mem_clock_rate": 2619000,
                "mem_bus_width": 5120,
            }

    class NoGpu:
        utils = NoUtils()

        def __getattr__(self, name: str) -> Any:
            return lambda *args, **kwargs: 0

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", CAPABILITY, 32)

        def get_active_torch_device(self) -> Any:
            return torch.device(DEVICE)

    launch = JITFunction.run

    def compile_only(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        return launches.compile(
            self.__name__,
            lambda: launch(self, *args, grid=grid, warmup=True, **kwargs),
            ("ptx", "ttgir"),
        )

    def keep(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        def again() -> Any:
            return launch(self, *args, grid=grid, warmup=False, **kwargs)

        launches.keep(again, args, kwargs)
        return again()

    if IS_STATIC:
        driver.set_active(NoGpu())
    JITFunction.run = compile_only if IS_STATIC else keep
    triton.set_allocator(
        lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=DEVICE)
    )
    take_few_configs(launches)


def use_blockscope(launches: Launches) -> None:
    import blockscope
    from blockscope.runtime import hooks

    blockscope.install_as_triton()

    def compile_only(
        run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
    ) -> Any:
        arch = os.environ.get("TRITON_OVERRIDE_ARCH") or f"sm_{CAPABILITY}a"  # Triton heeds it, too
        options = {**kwargs, "arch": arch}
        return launches.compile(
            fn.__name__, lambda: run(fn, grid, args, options, warmup=True), ("plan", "ptx", "tlg")
        )

    def keep(run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool) -> Any:
        def again() -> Any:
            return run(fn, grid, args, kwargs)

        launches.keep(again, args, kwargs)
        return again()

    _open.enter_context(hooks.intercepted(compile_only if IS_STATIC else keep))
    take_few_configs(launches)


def take_few_configs(launches: Launches) -> None:
    """Both sides choose among the same few configurations of autotuned kernels, by timing on a GPU
    that nobody else times on."""
    from triton.runtime.autotuner import Autotuner

    tune = Autotuner.run
    originals: dict[int, list[Any]] = {}

    def tune_few(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.configs = originals.setdefault(id(self), self.configs)
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        given = list(self.prune_configs(kwargs | self.nargs))
        self.configs = given[:: -(-len(given) // CONFIGS)]
        if len(self.configs) > 1:
            kept, tensors = len(launches.kept), len(launches.tensors)
            tune(self, *args, **kwargs)  # compiles, while others use the GPU
            self.cache.clear()
            with Turn(Path(sys.argv[4], "gpu.lock")):
                tune(self, *args, **kwargs)
            del launches.kept[kept:], launches.tensors[tensors:]  # those of tuning
        return tune(self, *args, **kwargs)

    Autotuner.run = tune_few


def fingerprint(tensors: list[Any]) -> list[dict[str, Any]]:
    """For each tensor what says whether its values are those of the other side: the mean of their
    sizes, how many are not finite, and SAMPLES of them, from all over it."""
    found = []
    for tensor in {id(t): t for t in tensors if t.numel()}.values():
        values = tensor.reshape(-1)
        values = values.view(torch.uint8) if values.element_size() == 1 else values
        sampled = values[:: -(-values.numel() // SAMPLES)].double()
        values = values[: 1 << 24].double()
        finite = values[torch.isfinite(values)]
        mean = float(finite.abs().mean()) if finite.numel() else 0.0
        sampled = torch.nan_to_num(sampled, 0.0, 0.0, 0.0).tolist()
        found.append(
            {
                "mean": mean,
                "not_finite": values.numel() - finite.numel(),
                "samples": [float(f"{value:.7g}") for value in sampled],
            }
        )
    return found


def kernel_microseconds(launches: list[Callable[[], Any]]) -> float:
    """The time of what was launched, by replay of a graph: the best, as others may run beside."""
    stream = torch.cuda.Stream()

    def run() -> None:
        for launch in launches:
            launch()

    with torch.cuda.stream(stream):
        run()
        once = microseconds(run, stream)
        replays = max(1, min(REPLAYS, int(LONG_MICROSECONDS / max(once, 1.0))))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(replays):
                run()
        graph.replay()
        times = [microseconds(graph.replay, stream) / replays for _ in range(ROUNDS)]
    return min(times)


def launch_under_profiler(launches: list[Callable[[], Any]]) -> None:
    profiler = torch.cuda.cudart()
    profiler.cudaProfilerStart()
    for launch in launches:
        launch()
    torch.cuda.synchronize()
    profiler.cudaProfilerStop()


def microseconds(run: Callable[[], None], stream: Any) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record(stream)
    run()
    end.record(stream)
    end.synchronize()
    return float(start.elapsed_time(end) * 1e3)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.modules["foreign_worker"] = sys.modules[__name__]
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def cases_of(source: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The names of cases, each with what makes its inputs and launches."""
    clones, *words = source.split(":")
    if words:
        yield from practice_cases(Path(clones), *words)
        return
    for key, function in list(vars(load(Path(source).resolve())).items()):
        if key.startswith("case_") and callable(function):
            yield key.removeprefix("case_"), function


def practice_cases(
    clones: Path, name: str, part: str = "0", parts: str = "1"
) -> Iterator[tuple[str, Callable[[], Any]]]:
    here = Path(__file__).resolve().parents[1] / "tests" / "practice"
    sys.path.insert(0, os.environ.get("FOREIGN_PRACTICE", str(here)))
    import torch.utils._triton
    from practice import cases, checkout, imports, modes, no_gpu, torch_math

    torch.compile = lambda function=None, **_: function or (lambda f: f)
    if IS_STATIC:
        no_gpu.pretend()
        torch_math.normal = lambda *shape, device, dtype=torch.float32, scale=1.0: empty(
            *shape, dtype=dtype
        )
    repository = cases.load(name)
    cache = Path(tempfile.gettempdir(), f"foreign-practice-{os.getuid()}")
    cache.mkdir(exist_ok=True)
    root, _ = checkout.checkout(clones, repository, cache)
    imports.install(root, repository)
    torch.utils._triton.has_triton = lambda: True

    def starter(case: Any) -> Callable[[], Any]:
        kept: list[Any] = []  # until the next case: kernels may know its tensors by address only

        def start() -> Any:
            kept.append(modes.made(case, root, SIZE, DEVICE)[0])
            kept.append(kept[-1]())
            return kept[-1]

        return start

    for case in list(repository.cases)[int(part) :: int(parts)]:
        yield case.name, starter(case)


class Turn:
    """Waits until no other process is at its turn on the GPU."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)


def emit(line: dict[str, Any]) -> None:
    print(MARK + json.dumps(line), flush=True)


def main() -> None:
    side, file, folder = sys.argv[2:5]
    wanted = sys.argv[5].split(",") if len(sys.argv) > 5 else []
    case, count = "", 0

    def sink(kernel: str, cubin: bytes, data: dict[str, Any]) -> None:
        nonlocal count
        if not case:
            return
        count += 1
        path = Path(folder, f"{case}.{count}.{re.sub(r'[^0-9A-Za-z_]', '_', kernel)}.{side}.cubin")
        path.write_bytes(cubin)
        for stage in ("ptx", "plan", "tlg", "ttgir"):
            if text := data.pop(stage, None):
                path.with_suffix(f".{stage}").write_text(text)
        emit({"case": case, "kernel": kernel, "number": count, "cubin": str(path), **data})

    if MODE == "compile":
        os.environ |= {"TRITON_CACHE_DIR": folder + "/cache", "TRITON_ALWAYS_COMPILE": "1"}
    launches = Launches(sink)
    (use_triton if side == "triton" else use_blockscope)(launches)
    gpu = Turn(Path(folder, "gpu.lock"))
    if MODE == "compile":  # the first compilation of a process loads modules and asks ptxas
        load(Path(__file__).with_name("foreign_cases.py")).case_embedding()
        # A collection takes 0.1 s, as torch has so many objects, and falls on any kernel by chance.
        gc.collect()
        gc.freeze()
    for name, function in cases_of(file):
        case, count = name, 0
        if wanted and not any(word in case for word in wanted):
            continue
        launches.kept, launches.tensors = [], []
        torch.manual_seed(0)
        try:
            begin = time.perf_counter()
            function()
            if IS_STATIC:
                continue
            torch.cuda.synchronize()
            seconds = time.perf_counter() - begin
            if MODE == "profile":
                launch_under_profiler(launches.kept)
                emit({"case": case, "launches": len(launches.kept)})
                continue
            prints = fingerprint(launches.tensors)
            with gpu:
                micros = kernel_microseconds(launches.kept)
            result = {"case": case, "microseconds": micros, "launches": len(launches.kept)}
            emit(result | {"fingerprint": prints, "first": seconds})
        except Exception as error:  # a case that one side cannot compile is a result
            traceback.print_exc()
            emit({"case": case, "error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
