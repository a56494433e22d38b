"""What a launch costs the host without a GPU: everything but the driver, whose place a stand-in
takes that does nothing.

Tensors are torch's own, on the CPU, which say that they are on a GPU; kernels are compiled for
sm_90a and never run. The rows are those of gpu.py, which times whole launches beside Triton on a
GPU (`python benchmarks/gpu.py --rows launch`). The first row stands for the loop that calls.

  python benchmarks/launches.py [--rows TEXT]
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import operator
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu
import gpu_cases

ROOT = Path(__file__).resolve().parents[1]
LAUNCHES, SAMPLES = 500, 201


def start_again_with_stand_in() -> None:
    """The driver is looked for when a process first asks: the stand-in must be there before."""
    compiler = next(filter(None, map(shutil.which, ("clang-22", "clang", "cc"))))
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libcuda.so.1"
        source = Path(__file__).with_name("launches_stand_in.c")
        subprocess.run(
            [compiler, "-O2", "-g", "-shared", "-fPIC", "-w", "-o", library, source], check=True
        )
        settings = {"TRITON_LIBCUDA_PATH": str(library), "TRITON_DEFAULT_BACKEND": "cuda"}
        done = subprocess.run([sys.executable, *sys.argv], env={**os.environ, **settings})
    sys.exit(done.returncode)


def let_tensors_be_on_gpu(library: ctypes.PyDLL) -> None:
    """torch's tensors say that they are on GPU 0, through what is no slower than torch's own."""
    import torch

    tensor: Any = torch.Tensor
    if hasattr(tensor, "__dlpack_c_exchange_api__"):
        get, make = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        name = b"dlpack_exchange_api"
        library.stand_in_exchange.restype = ctypes.c_void_p
        library.stand_in_exchange.argtypes = [ctypes.c_void_p]
        table = library.stand_in_exchange(get(tensor.__dlpack_c_exchange_api__, name))
        tensor.__dlpack_c_exchange_api__ = make(table, name, None)
    tensor.get_device = functools.partial(int)
    tensor.device = property(lambda _: "cuda:0")
    torch._C._cuda_getCurrentRawStream = operator.index
    gpu_cases.zeros = lambda *size, dtype="float32": torch.zeros(*size, dtype=getattr(torch, dtype))


def nanoseconds(function: Callable[[], Any]) -> float:
    samples = []
    for _ in range(SAMPLES):
        begin = time.perf_counter()
        for _ in range(LAUNCHES):
            function()
        samples.append((time.perf_counter() - begin) / LAUNCHES * 1e9)
    return min(samples)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="", help="those whose names contain this")
    parser.add_argument("--repeat", type=int, default=0, help="only launch so often, for profilers")
    options = parser.parse_args()
    if "TRITON_LIBCUDA_PATH" not in os.environ:
        start_again_with_stand_in()
    let_tensors_be_on_gpu(ctypes.PyDLL(os.environ["TRITON_LIBCUDA_PATH"]))
    kernels = gpu.load_kernels("blockscope")
    rows = [("nothing", lambda: None)] if not options.repeat else []
    for row in gpu_cases.launches():
        if options.rows in row.name:
            rows.append((row.name, row.make("blockscope", kernels).function))
    for name, function in rows:
        for _ in range(10):
            function()
        if options.repeat:
            for _ in range(options.repeat):
                function()
        else:
            print(f"{name:50} {nanoseconds(function):8.0f} ns", flush=True)


if __name__ == "__main__":
    main()
