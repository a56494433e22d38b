"""How long autotune takes, compiling included: Blockscope beside Triton, ten kernels on a GPU.

The kernels and tensors are those of gpu.py; each chooses among the same eight configurations
(4 and 8 warps, 2 to 5 stages) on both sides. Every side runs in processes of its own, sides in turn
(Triton, Blockscope, Blockscope, Triton), with empty caches.

  python benchmarks/tuning.py [--json out.json]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gpu
import gpu_cases
import requirements
from gpu_cases import Row

SIDES = ("triton", "blockscope")
OPTIONS = ("num_warps", "num_stages")


def rows() -> list[tuple[str, Any]]:
    """Names and what makes each row: its tensors must not exist together with the next one's."""
    tile = (128, 128, 64, 8, 3)
    return [
        ("vector add 2^16", lambda: gpu_cases.vector_add(1 << 16)),
        ("vector add 2^24", lambda: gpu_cases.vector_add(1 << 24)),
        ("softmax 4096x1024", lambda: gpu_cases.softmax(4096, 1024, is_quick=False)),
        ("softmax 4096x8192", lambda: gpu_cases.softmax(4096, 8192, is_quick=False)),
        ("LayerNorm 4096x4096", lambda: gpu_cases.layer_norm(4096, 4096)),
        ("matmul 1024", lambda: gpu_cases.matmul(1024, tile, is_quick=False)),
        ("matmul 4096", lambda: gpu_cases.matmul(4096, tile, is_quick=False)),
        (
            "matmul with descriptors 2048",
            lambda: gpu_cases.matmul(2048, tile, is_quick=False, with_descriptors=True),
        ),
        ("attention D=64", lambda: gpu_cases.attention(64, False, 64, 3, is_quick=False)),
        ("attention D=128, causal", lambda: gpu_cases.attention(128, True, 64, 3, is_quick=False)),
    ]


class Tuned:
    """A kernel of gpu_kernels.py that chooses its warps and stages itself, whatever it is given."""

    def __init__(self, kernel: Any, triton: Any) -> None:
        configs = [
            triton.Config({}, num_warps=warps, num_stages=stages)
            for warps in (4, 8)
            for stages in (2, 3, 4, 5)
        ]
        self._tuner = triton.autotune(configs=configs, key=[])(kernel)

    def __getitem__(self, grid: Any) -> Any:
        def launch(*args: Any, **meta: Any) -> Any:
            left = {name: value for name, value in meta.items() if name not in OPTIONS}
            return self._tuner[grid](*args, **left)

        return launch


class TunedKernels:
    """gpu_kernels.py with every kernel tuned."""

    def __init__(self, side: str) -> None:
        self._module = gpu.load_kernels(side)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if not name.endswith("_kernel"):
            return value
        tuned = Tuned(value, self._module.triton)
        setattr(self, name, tuned)
        return tuned


def seconds_to_tune(row: Row, side: str) -> float:
    """From the first launch to its end."""
    import torch

    case = row.make(side, TunedKernels(side))
    torch.cuda.synchronize()
    begin = time.perf_counter()
    case.function()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def work(side: str) -> None:
    """The worker: one line of JSON for each row. A launch before the first one starts the GPU."""
    import torch

    seconds_to_tune(gpu_cases.vector_add(1 << 12), side)
    for name, make in rows():
        try:
            line = {"row": name, "seconds": seconds_to_tune(make(), side)}
        except Exception as error:
            line = {"row": name, "failed": f"{type(error).__name__}: {str(error).strip()}"}
        print(json.dumps(line), flush=True)
        torch.cuda.empty_cache()


def run_side(side: str) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, __file__, "--worker", side],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "TRITON_CACHE_DIR": cache},
        )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["row"]: line for line in lines}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the seconds there")
    parser.add_argument("--worker", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker)
        return
    requirements.need_gpu()
    found = [(side, run_side(side)) for side in (*SIDES, *reversed(SIDES))]
    results, ratios = [], []
    print("| kernel | triton | blockscope | times Triton's |\n|---|---|---|---|")
    for name, _ in rows():
        line: dict[str, Any] = {"row": name}
        for side in SIDES:
            cells = [cells.get(name, {"failed": "no result"}) for of, cells in found if of == side]
            failed = [cell["failed"] for cell in cells if "failed" in cell]
            line[side] = failed[0] if failed else statistics.median(c["seconds"] for c in cells)
        results.append(line)
        texts = [f"{v:.2f} s" if isinstance(v := line[side], float) else v for side in SIDES]
        ratio = "-"
        if all(isinstance(line[side], float) for side in SIDES):
            ratios.append(line["blockscope"] / line["triton"])
            ratio = f"{ratios[-1]:.2f}"
        print(f"| {name} | {texts[0]} | {texts[1]} | {ratio} |")
    if ratios:
        print(f"geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
