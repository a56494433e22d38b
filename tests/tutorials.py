"""Runs Triton's tutorials, which lie in a folder beside the project, unmodified on the CPU.

usage: tutorials.py FOLDER [--checks CHECKS] [NUMBER ...]

Each runs in a process of its own, and its results are compared with torch's; with --checks
(`all`, `asan,nan`) also under these checks, which must find nothing but notes. Sizes are cut: of a
benchmark the first size runs, once, and the largest constants are smaller. What the files ask of a
GPU is answered: device="cuda" is the CPU, which has the properties of a small GPU.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SECONDS = 300


def close(found: Any, expected: Any, tolerance: float = 1e-2) -> None:
    import torch

    torch.testing.assert_close(
        found.float(), expected.float(), atol=tolerance, rtol=tolerance, equal_nan=True
    )


def vector_add(names: dict[str, Any]) -> None:
    close(names["output_triton_cpu"], names["output_torch_cpu"], 0)


def softmax(names: dict[str, Any]) -> None:
    close(names["y_triton"], names["y_torch"], 1e-5)


def matmul(names: dict[str, Any]) -> None:
    close(names["triton_output"], names["torch_output"])


def dropout(names: dict[str, Any]) -> None:
    import torch

    x = torch.ones(4096)
    first = names["seeded_dropout"](x, p=0.5, seed=123)
    assert torch.equal(first, names["seeded_dropout"](x, p=0.5, seed=123))
    assert not torch.equal(first, names["seeded_dropout"](x, p=0.5, seed=512))
    assert set(first.tolist()) == {0.0, 2.0} and abs(first.mean() - 1) < 0.1


def layer_norm(names: dict[str, Any]) -> None:
    """The file compares, backward too."""


def attention(names: dict[str, Any]) -> None:
    for causal in (False, True):
        names["test_op"](1, 2, 256, 64, causal, False, "bwd", "triton-fp16")
        names["test_op"](1, 2, 256, 64, causal, False, "fwd", "triton-fp8")


def extern_functions(names: dict[str, Any]) -> None:
    close(names["output_triton"], names["output_torch"], 1e-6)


def grouped_gemm(names: dict[str, Any]) -> None:
    for found, expected in zip(names["tri_out"], names["ref_out"], strict=True):
        close(found, expected)
    transposed = names["group_B_T"]
    names["supports_tma"] = lambda: True
    found = names["group_gemm_tma_fn"](names["group_A"], names["group_B_T"])
    for matrix, expected in zip(found, names["ref_out"], strict=True):
        close(matrix, expected)


def persistent_matmul(names: dict[str, Any]) -> None:
    import torch

    a = torch.randn(200, 136).to(torch.float16)
    b = torch.randn(168, 136).to(torch.float16)  # transposed
    expected = a.float() @ b.T.float()
    close(names["matmul"](a, b.T), expected, 3e-2)
    close(names["matmul_persistent"](a, b.T), expected, 3e-2)
    for name in ("matmul_tma", "matmul_tma_persistent", "matmul_descriptor_persistent"):
        for warp_specialize in (False, True):
            close(names[name](a, b, warp_specialize), expected, 3e-2)


def block_scaled_matmul(names: dict[str, Any]) -> None:
    for kind in ("nvfp4", "mxfp4", "mxfp8", "mixed"):
        names["validate_block_scaled"](128, 256, 512, kind)


def dependent_launch(names: dict[str, Any]) -> None:
    import torch

    x, y = torch.rand(5000), torch.rand(5000)
    for launch_pdl in (False, True):
        close(names["add"](x, y, launch_pdl), x + y, 0)


#: By number: what checks the results, the name that the file runs under, and the error that it
#: raises in the end because it is on no GPU.
CHECKS: dict[str, tuple[Callable[[dict[str, Any]], None], str, str]] = {
    "01": (vector_add, "__main__", ""),
    "02": (softmax, "__main__", ""),
    "03": (matmul, "__main__", ""),
    "04": (dropout, "__main__", ""),
    "05": (layer_norm, "__main__", ""),
    "06": (attention, "tutorial", ""),  # its main part has a benchmark that is long on a CPU
    "07": (extern_functions, "__main__", "unknown backend"),
    "08": (grouped_gemm, "__main__", ""),
    "09": (persistent_matmul, "tutorial", ""),  # its main part is for the profiler
    "10": (block_scaled_matmul, "tutorial", ""),  # its main part asks for Blackwell
    "11": (dependent_launch, "__main__", ""),
}


@contextlib.contextmanager
def cut_sizes() -> Iterator[None]:
    """Benchmarks of one size and one run; a CPU where the file asks for a GPU."""
    import torch
    import triton.testing
    from torch.overrides import TorchFunctionMode

    class OnTheCpu(TorchFunctionMode):
        def __torch_function__(
            self, function: Any, kinds: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = dict(kwargs or {})
            if str(kwargs.get("device", "")).startswith("cuda"):
                kwargs["device"] = "cpu"
            return function(*args, **kwargs)

    class Benchmark(triton.testing.Benchmark):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.x_vals = self.x_vals[:1]

    def time_once(run: Callable[[], Any], *_: Any, quantiles: Any = None, **__: Any) -> Any:
        run()
        return (1.0,) * len(quantiles) if quantiles else 1.0

    triton.testing.Benchmark = Benchmark
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = time_once
    properties = types.SimpleNamespace(multi_processor_count=4)
    torch.cuda.get_device_properties = lambda *_: properties  # type: ignore[assignment]
    torch.cuda.get_device_capability = lambda *_: (8, 0)  # type: ignore[assignment]
    torch.cpu.set_stream = lambda *_: None  # type: ignore[attr-defined]
    if importlib.util.find_spec("tabulate") is None:
        table = types.ModuleType("tabulate")
        table.__spec__ = importlib.machinery.ModuleSpec("tabulate", None)  # torch looks for it
        table.tabulate = lambda rows, **_: "\n".join(map(str, rows))  # type: ignore[attr-defined]
        sys.modules["tabulate"] = table
    with OnTheCpu():
        yield


def run_here(path: Path, checks: str) -> None:
    """One tutorial, and the check of its results."""
    import blockscope

    blockscope.install_as_triton()
    import torch

    check, run_name, ends_with = CHECKS[path.name[:2]]
    torch.manual_seed(0)
    os.environ["MPLBACKEND"] = "Agg"
    module = types.ModuleType(run_name)
    module.__file__ = str(path)
    sys.modules[run_name] = module
    with cut_sizes(), found_nothing(checks):
        tree = SmallerConstants().visit(ast.parse(path.read_text(), str(path)))
        try:
            exec(compile(tree, str(path), "exec"), module.__dict__)
        except RuntimeError as error:
            if str(error) != ends_with:
                raise
        check(module.__dict__)


@contextlib.contextmanager
def found_nothing(checks: str) -> Iterator[None]:
    """Under these checks; their findings, but for notes, are an error. None: as without checks."""
    import blockscope

    if not checks:
        yield
        return
    with blockscope.check(checks) as report:
        yield
    if any(finding.severity != "note" for finding in report.findings):
        raise SystemExit(report.text())


class SmallerConstants(ast.NodeTransformer):
    """Sizes for a CPU. Kernels are read from the file, so this is not in them."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        is_size = type(node.value) is int and node.value in (4096, 8192)
        return ast.copy_location(ast.Constant(256), node) if is_size else node


def main() -> int:
    folder, *numbers = sys.argv[1:]
    checks = ""
    if numbers[:1] == ["--checks"]:
        checks, *numbers = numbers[1:]
    if folder == "--here":
        run_here(Path(numbers[0]), checks)
        return 0
    failed = []
    paths = sorted(path for path in Path(folder).glob("*.py") if re.match(r"\d\d-", path.name))
    for path in paths:
        if numbers and path.name[:2] not in numbers:
            continue
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, str(Path(__file__).resolve()), "--here"]
            command += ["--checks", checks, str(path.resolve())]
            why = ""
            try:
                subprocess.run(
                    command,
                    cwd=scratch,
                    capture_output=True,
                    text=True,
                    timeout=SECONDS,
                    check=True,
                )
            except subprocess.CalledProcessError as error:
                why = error.stderr if checks else "\n".join(error.stderr.splitlines()[-12:])
            except subprocess.TimeoutExpired:
                why = f"not done after {SECONDS} s"
        word = "FAILED" if why else "passed"
        print(f"{path.name:40} {word} {time.monotonic() - start:6.1f} s", flush=True)
        if why:
            failed.append(path.name)
            print(why, file=sys.stderr)
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
