"""Timing, comparing and plotting, under the names of ``triton.testing``.

torch, pandas and matplotlib are imported when a function needs them. Without pandas tables are
still printed and written as CSV; without matplotlib asking for a plot is an error that says so.
"""

from __future__ import annotations

import functools
import math
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from blockscope import _core, timing
from blockscope.driver import driver
from blockscope.driver.cpu import CPUUtils, cpu_features
from blockscope.errors import NotYetSupported
from blockscope.timing import RETURN_MODES, do_bench_cpu_quick
from blockscope.timing import quantiles_of as _quantile
from blockscope.timing import summarize as _summarize_statistics

__all__ = [
    "RETURN_MODES",
    "Benchmark",
    "Mark",
    "Table",
    "_quantile",
    "_summarize_statistics",
    "allclose",
    "assert_almost_equal",
    "assert_close",
    "cuda_memcheck",
    "do_bench",
    "do_bench_cpu_quick",
    "do_bench_cudagraph",
    "do_bench_cudagraph_proton",
    "do_bench_proton",
    "get_dram_gbps",
    "get_max_simd_tflops",
    "get_max_tensorcore_tflops",
    "nvsmi",
    "perf_report",
    "set_gpu_clock",
]

# --- timing -------------------------------------------------------------------------------------


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Any = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    *,
    fast_flush: bool = True,
    device_type: str | None = None,
    percentiles: Sequence[float] | None = None,
) -> Any:
    """Time ``fn`` with events of the GPU when that is the active device, else on the CPU's clock.

    Units:  milliseconds, for ``warmup``, ``rep`` and the result.
    Errors: TypeError when ``fn`` cannot be called, ValueError for an unknown ``return_mode``.

    ``quantiles`` gives a list (or, for one quantile, a number); else ``return_mode`` decides. The
    caches are overwritten before each run. ``fast_flush`` and ``device_type`` are accepted for
    files written for older versions; ``percentiles`` is the old name of ``quantiles``.
    """
    return timing.do_bench(
        driver.active, fn, warmup, rep, grad_to_none, quantiles, return_mode,
        percentiles=percentiles,
    )  # fmt: skip


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Any = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Time ``fn`` without the cost of launching it: many runs are captured into a CUDA graph.

    On the CPU, which has no graphs, the same as ``do_bench``. Units: milliseconds for one run.
    """
    if not driver.is_gpu_active():
        return do_bench(fn, rep / 4, rep, grad_to_none, quantiles, return_mode)
    timing.check_arguments(fn, return_mode, quantiles)

    def run() -> None:
        timing.clear_gradients(grad_to_none)
        fn()

    times = timing.time_graph(driver.active.get_device_interface(), run, rep)
    return timing.summarize(times, quantiles, return_mode)


def do_bench_proton(*args: Any, **kwargs: Any) -> Any:
    raise _no_profiler("do_bench_proton")


def do_bench_cudagraph_proton(*args: Any, **kwargs: Any) -> Any:
    raise _no_profiler("do_bench_cudagraph_proton")


def _no_profiler(name: str) -> Exception:
    return NotYetSupported(f"triton.testing.{name} needs the profiler, which is not there yet")


# --- comparing ----------------------------------------------------------------------------------


def _as_array(x: Any) -> Any:
    """A NumPy array of float64 (or of the integers, or complex numbers) in ``x``."""
    import numpy as np

    if hasattr(x, "detach"):
        x = x.detach().cpu()
        if x.is_floating_point():
            x = x.double()
        x = x.numpy()
    array = np.asarray(x)
    return array.astype(np.float64) if array.dtype.kind not in "iubc" else array


def assert_close(
    x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = ""
) -> None:
    """Raise AssertionError unless ``x`` and ``y`` agree within ``atol + rtol * |y|``.

    Shapes: they may be broadcast when one has a single element; else they must be equal.
    Errors: AssertionError naming the worst element, both values and how many differ.

    The defaults are 0.01 and 0; tensors, arrays, lists and numbers are accepted. NaN equals NaN.
    """
    import numpy as np

    a, b = _as_array(x), _as_array(y)
    prefix = f"{err_msg}: " if err_msg else ""
    if a.size > 1 and b.size > 1 and a.shape != b.shape:
        raise AssertionError(f"{prefix}shapes {a.shape} and {b.shape} differ")
    atol = 1e-2 if atol is None else _tolerance(atol)
    rtol = 0.0 if rtol is None else _tolerance(rtol)
    a, b = np.broadcast_arrays(a, b)
    if np.allclose(a, b, atol=atol, rtol=rtol, equal_nan=True):
        return
    with np.errstate(invalid="ignore"):
        difference = np.abs(a.astype(np.complex128) - b) - rtol * np.abs(b)
    same = (a == b) | ((a != a) & (b != b))
    difference = np.where(same, -np.inf, np.where(difference != difference, np.inf, difference))
    wrong = int((difference > atol).sum())
    worst = tuple(int(i) for i in np.unravel_index(int(difference.argmax()), difference.shape))
    raise AssertionError(
        f"{prefix}{wrong} of {a.size} elements differ by more than {atol:g} + {rtol:g} * |y|; "
        f"the worst is element {worst}: {a[worst]!s} and {b[worst]!s}"
    )


def _tolerance(value: Any) -> float:
    return value() if callable(value) else float(value)


def assert_almost_equal(x: Any, y: Any, decimal: int = 2, err_msg: str = "") -> None:
    import numpy.testing

    numpy.testing.assert_array_almost_equal(_as_array(x), _as_array(y), decimal, err_msg)


def allclose(x: Any, y: Any, tol: float = 1e-2) -> bool:
    import numpy as np

    return bool(np.allclose(_as_array(x), _as_array(y), atol=tol, rtol=0))


# --- benchmarks with tables and plots -----------------------------------------------------------


class Benchmark:
    """What ``perf_report`` varies (x axis and lines), keeps fixed (``args``) and calls its plot."""

    def __init__(
        self,
        x_names: Sequence[str],
        x_vals: Sequence[Any],
        line_arg: str,
        line_vals: Sequence[Any],
        line_names: Sequence[str],
        plot_name: str,
        args: dict[str, Any] | None = None,
        xlabel: str = "",
        ylabel: str = "",
        x_log: bool = False,
        y_log: bool = False,
        styles: Sequence[tuple[str, str]] | None = None,
        color: Any = None,
    ) -> None:
        if len(line_vals) != len(line_names):
            raise ValueError(
                f"Benchmark got {len(line_vals)} line_vals and {len(line_names)} line_names, "
                "expected as many of each"
            )
        if isinstance(x_names, str):
            raise TypeError(f"Benchmark got '{x_names}' as x_names, expected a list of names")
        self.x_names = list(x_names)
        self.x_vals = list(x_vals)
        self.line_arg = line_arg
        self.line_vals = list(line_vals)
        self.line_names = list(line_names)
        self.plot_name = plot_name
        self.args = dict(args or {})
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.x_log = x_log
        self.y_log = y_log
        self.styles = styles


class Table:
    """Columns and rows; prints aligned, and turns into a pandas DataFrame on request."""

    def __init__(self, columns: list[str]) -> None:
        self.columns = columns
        self.rows: list[list[Any]] = []

    def column(self, name: str) -> list[Any]:
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def __str__(self) -> str:
        header = ["", *self.columns]
        body = [[str(i), *(_cell(value) for value in row)] for i, row in enumerate(self.rows)]
        widths = [max(len(line[i]) for line in [header, *body]) for i in range(len(header))]
        lines = []
        for line in [header, *body]:
            lines.append("  ".join(text.rjust(w) for text, w in zip(line, widths, strict=True)))
        return "\n".join(line.rstrip() for line in lines)

    def add_difference(self) -> None:
        """One more column: the last one less the one before."""
        self.columns.append("Diff")
        for row in self.rows:
            row.append(row[-1] - row[-2])

    def write_csv(self, path: str, precision: int = 6) -> None:
        import csv

        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows([_cell(value, precision) for value in row] for row in self.rows)

    def to_pandas(self) -> Any:
        try:
            import pandas
        except ImportError:
            raise ImportError("return_df=True needs pandas, which is not installed") from None
        return pandas.DataFrame(self.rows, columns=self.columns)


def _cell(value: Any, precision: int = 6) -> str:
    return f"{value:.{precision}f}" if isinstance(value, float) else str(value)


class Mark:
    """A benchmark function with its settings; ``run`` measures, prints, plots and saves."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks
        functools.update_wrapper(self, fn, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def _measure(self, bench: Benchmark, kwargs: dict[str, Any]) -> tuple[Table, Table]:
        """The table of values, and the table that also has the bounds."""
        names = bench.line_names
        table = Table([*bench.x_names, *_labels(names, bench.ylabel)])
        bounds = Table([*bench.x_names, *names, *(f"{n}-min" for n in names),
                        *(f"{n}-max" for n in names)])  # fmt: skip
        for x in bench.x_vals:
            xs = list(x) if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
            if len(xs) != len(bench.x_names):
                raise ValueError(
                    f"perf_report '{bench.plot_name}' got {len(xs)} x values for "
                    f"{len(bench.x_names)} x_names ({', '.join(bench.x_names)})"
                )
            middle: list[Any] = []
            low: list[Any] = []
            high: list[Any] = []
            for line in bench.line_vals:
                settings = dict(zip(bench.x_names, xs, strict=True))
                settings.update({bench.line_arg: line}, **bench.args)
                result = self.fn(**{**settings, **kwargs})
                triple = result if isinstance(result, (list, tuple)) else (result, None, None)
                if len(triple) != 3:
                    raise ValueError(
                        f"'{self.fn.__name__}' gave {len(triple)} values, expected one, or a "
                        "value with its lower and upper bound"
                    )
                for column, value in zip((middle, low, high), triple, strict=True):
                    column.append(value.item() if hasattr(value, "item") else value)
            table.rows.append([*xs, *middle])
            bounds.rows.append([*xs, *middle, *low, *high])
        return table, bounds

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        diff_col: bool = False,
        save_precision: int = 6,
        **kwargs: Any,
    ) -> Any:
        """Run every benchmark; ``kwargs`` go to the function.

        ``save_path`` gets one PNG and one CSV for each benchmark and ``results.html``. With
        ``return_df`` the tables come back as pandas frames: one, or a list for several.
        """
        single = isinstance(self.benchmarks, Benchmark)
        benchmarks = [self.benchmarks] if single else list(self.benchmarks)  # type: ignore[arg-type]
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        frames, page = [], []
        for bench in benchmarks:
            assert isinstance(bench, Benchmark)
            table, bounds = self._measure(bench, kwargs)
            if bench.plot_name and (show_plots or save_path):
                self._plot(bench, bounds, show_plots, save_path)
                page.append(f'<img src="{bench.plot_name}.png" alt="{bench.plot_name}"/>')
            if diff_col and len(bench.line_names) == 2:
                table.add_difference()
            if print_data:
                print(f"{bench.plot_name}:\n{table}")
            if save_path:
                table.write_csv(os.path.join(save_path, f"{bench.plot_name}.csv"), save_precision)
            if return_df:
                frames.append(table.to_pandas())
        if save_path:
            with open(os.path.join(save_path, "results.html"), "w", encoding="utf-8") as file:
                file.write("<html><body>\n" + "\n".join(page) + "\n</body></html>\n")
        if return_df:
            return frames[0] if single else frames
        return None

    def _plot(self, bench: Benchmark, bounds: Table, show: bool, save_path: str) -> None:
        try:
            if not show:
                import matplotlib

                matplotlib.use("Agg", force=False)
            import matplotlib.pyplot as plt
        except ImportError:
            if show:
                raise ImportError(
                    "show_plots=True needs matplotlib, which is not installed"
                ) from None
            print(f"no plot of '{bench.plot_name}': matplotlib is not installed")
            return
        x = bounds.column(bench.x_names[0])
        figure, axes = plt.subplots()
        for i, name in enumerate(bench.line_names):
            color, style = bench.styles[i] if bench.styles else (None, None)
            axes.plot(x, bounds.column(name), label=name, color=color, ls=style)
            low, high = bounds.column(f"{name}-min"), bounds.column(f"{name}-max")
            if all(v is not None for v in low + high):
                axes.fill_between(x, low, high, alpha=0.15, color=color)
        axes.legend()
        axes.set_xlabel(bench.xlabel or ", ".join(bench.x_names))
        axes.set_ylabel(bench.ylabel)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")
        if save_path:
            figure.savefig(os.path.join(save_path, f"{bench.plot_name}.png"))
        if show:
            plt.show()
        plt.close(figure)


def _labels(names: Sequence[str], ylabel: str) -> list[str]:
    return [f"{name} ({ylabel})" if ylabel else name for name in names]


def perf_report(
    benchmarks: Benchmark | Sequence[Benchmark],
) -> Callable[[Callable[..., Any]], Mark]:
    """Decorator: turn a function that returns a measurement into a benchmark with ``.run()``."""
    return lambda fn: Mark(fn, benchmarks)


# --- what the machine can do --------------------------------------------------------------------


@functools.lru_cache(None)
def _copy_gbps() -> float:
    """Bytes moved by the best of five copies of 32 MiB, read and written, in GB/s."""
    size = 32 << 20
    source, target = memoryview(bytearray(size)), memoryview(bytearray(size))
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        target[:] = source
        best = min(best, time.perf_counter() - start)
    return 2 * size / best / 1e9


def _gpu_properties(device: Any) -> dict[str, Any] | None:
    """The properties of a GPU, by default the current one; None when kernels run on the CPU."""
    if not driver.is_gpu_active():
        return None
    number = driver.active.get_current_device() if device is None else int(device)
    return driver.active.utils.get_device_properties(number)


def get_dram_gbps(device: Any = None) -> float:
    """Memory bandwidth in GB/s: of a GPU by its clock and bus, of the CPU measured by copying."""
    gpu = _gpu_properties(device)
    if gpu is not None:
        return gpu["mem_clock_rate"] * 1e3 * 2 * gpu["mem_bus_width"] / 8 / 1e9
    return _copy_gbps()


def _gpu_tflops(gpu: dict[str, Any], dtype: Any, clock_khz: float | None, unit: str) -> float:
    """Peak of the ``unit`` "vector" or "matrix" of a GPU. Half the bits, twice the operations.

    Errors: RuntimeError for a GPU that kernels are not compiled for.
    """
    known = _core.gpu.target_of_capability(gpu["capability"])[f"{unit}_operations"]
    operations = known * {"vector": 32, "matrix": 16}[unit] / _dtype_bits(dtype)
    return (
        gpu["multiprocessor_count"] * (clock_khz or gpu["sm_clock_rate"]) * 1e3 * operations / 1e12
    )


def get_max_simd_tflops(dtype: Any, clock_rate: float | None = None, device: Any = None) -> float:
    """Peak of the vector units in TFLOP/s; on the CPU threads x GHz x lanes x 2 FMA a cycle.

    Units: ``clock_rate`` in kHz.
    """
    gpu = _gpu_properties(device)
    if gpu is not None:
        return _gpu_tflops(gpu, dtype, clock_rate, "vector")
    properties = CPUUtils().get_device_properties()
    clock_khz = clock_rate or properties["sm_clock_rate"]
    features = cpu_features()
    bits = 512 if "avx512f" in features else 128 if "asimd" in features else 256
    lanes = bits // max(32, _dtype_bits(dtype))
    return properties["multiprocessor_count"] * clock_khz * 1e3 * lanes * 4 / 1e12


def get_max_tensorcore_tflops(
    dtype: Any, clock_rate: float | None = None, device: Any = None
) -> float:
    """Peak of a GPU's matrix units; of the CPU, which has none that are used, the vector units."""
    gpu = _gpu_properties(device)
    if gpu is not None:
        return _gpu_tflops(gpu, dtype, clock_rate, "matrix")
    return get_max_simd_tflops(dtype, clock_rate, device)


def _dtype_bits(dtype: Any) -> int:
    for attribute, scale in (("primitive_bitwidth", 1), ("itemsize", 8)):
        value = getattr(dtype, attribute, None)
        if isinstance(value, int):
            return value * scale
    return 32


def nvsmi(attrs: Sequence[str]) -> list[int]:
    """What nvidia-smi says about the first GPU. Errors: RuntimeError where there is none."""
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(attrs)}",
               "--format=csv,noheader,nounits"]  # fmt: skip
    try:
        text = subprocess.check_output(command, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"nvsmi needs a GPU and nvidia-smi: {error}") from None
    return [int(value) for value in text.split(",")]


@contextmanager
def set_gpu_clock(ref_sm_clock: int = 1350, ref_mem_clock: int = 1215) -> Any:
    """Needs a GPU whose clocks can be set."""
    raise RuntimeError("set_gpu_clock needs a GPU, this machine runs kernels on the CPU")
    yield


def cuda_memcheck(**target_kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The test itself, unchanged: ``blockscope check`` checks memory on the CPU."""
    return lambda test_fn: test_fn
