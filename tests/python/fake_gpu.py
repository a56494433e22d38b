"""A GPU without a GPU: programs that run in processes of their own on a fake libcuda.

A process opens the driver once. The fake keeps streams, events, captures and graphs as CUDA does,
and ends a program that unloads code which still runs or which a graph holds
(data/fake_libcuda.c).
"""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

PREAMBLE = '''
import os, sys
import pytest
import blockscope as triton
import blockscope.language as tl
import torch
from blockscope import _core, knobs
from blockscope.errors import LaunchError, OutOfResources
from blockscope.runtime import launcher
from blockscope.runtime.backends.cuda import backend as gpu
from ptx import compiled_data

compiled = []

def compile_nothing(builder, arch, settings):
    compiled.append((arch, settings))
    return compiled_data("k", "x", num_warps=settings["num_warps"], **changes), None

changes = {}
_core.gpu.compile = compile_nothing

class Tensor:
    """A torch tensor on a GPU, as far as a launch looks at it."""
    device = "cuda:0"

    def __init__(self, address=4096, dtype=torch.float32):
        self.address, self.dtype, self.shape = address, dtype, (64,)

    def data_ptr(self):
        return self.address

    def get_device(self):
        return 0

launcher._torch_is_known = True
_core.register_torch(Tensor, type("Parameter", (Tensor,), {}),
                     [(torch.float32, "float32"), (torch.float16, "float16")],
                         lambda device: 77)

def launches():
    """Of cuLaunchKernelEx: name, grid, threads, shared bytes, stream, device, arguments."""
    try:
        with open(os.environ["FAKE_CUDA_LOG"]) as file:
            return [line.split() for line in file]
    except FileNotFoundError:
        return []

@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n) + n, i < n)

'''


@pytest.fixture(scope="session")
def libcuda(tmp_path_factory):
    compiler = next(filter(None, map(shutil.which, ("clang-22", "clang", "cc"))), None)
    if compiler is None:
        pytest.skip("no C compiler for the fake libcuda")
    path = tmp_path_factory.mktemp("libcuda") / "libcuda.so.1"
    source = HERE / "data" / "fake_libcuda.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", path, source], check=True)
    return path


@pytest.fixture
def run(libcuda, tmp_path):
    """Runs a program on the fake GPU; fails with its output unless it ends well."""

    def run_program(source, preamble=PREAMBLE, **environment):
        file = tmp_path / "program.py"
        file.write_text(preamble + textwrap.dedent(source))
        settings = {
            "TRITON_LIBCUDA_PATH": str(libcuda),
            "TRITON_DEFAULT_BACKEND": "cuda",
            "FAKE_CUDA_LOG": str(tmp_path / "launches"),
            "FAKE_CUDA_ARGUMENTS": "3",
            "BLOCKSCOPE_CACHE": "0",
            **environment,
        }
        path = os.pathsep.join([str(ROOT / "tests" / "gpu"), *sys.path])
        result = subprocess.run(
            [sys.executable, str(file)],
            env={**os.environ, "PYTHONPATH": path, **settings},
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run_program
