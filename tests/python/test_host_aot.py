"""triton.tools.compile and link: kernels that C launches, on a driver that writes launches down."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import gpu_rows
import pytest

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)

CC = next(filter(None, map(shutil.which, ("clang-22", "clang", "cc"))), None)
KERNELS = """
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, out_ptr, n, factor, step, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i * step, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)

@triton.jit
def loud(x_ptr):
    tl.device_print("x", tl.load(x_ptr))
"""


def tool(name: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"triton.tools.{name}", *map(str, arguments)],
        env={**os.environ, "BLOCKSCOPE_AS_TRITON": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def compiled(file: Path, signature: str, *more: Any, kernel: str = "scale") -> list[Path]:
    grid = "(n + 127) / 128, 1, 1"
    done = tool("compile", file, "-n", kernel, "-s", signature, "-g", grid, "-t", "cuda:90:32",
                "-on", "mine", "-o", file.with_name("mine"), *more)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [Path(line) for line in done.stdout.split()]


def headers() -> Path | None:
    from blockscope.runtime.backends.cuda import tools

    homes = [Path(tools.ptxas()).parents[1], Path("/usr/local/cuda")]
    return next((h / "include" for h in homes if (h / "include" / "cuda.h").is_file()), None)


def test_c_launches_the_variant_that_fits(file: Path, tmp_path: Path, libcuda: Path) -> None:
    include = headers()
    if CC is None or include is None:
        pytest.skip("no C compiler, or no cuda.h")
    files = [
        *compiled(file, "*fp32:16, *fp32:16, i32:16, fp32, i32:1, 128"),
        *compiled(file, "*fp32, *fp32, i32, fp32, i32, 128"),
        *compiled(file, "*fp32, *fp32, i32, fp32, i32, 128", "-w", "8"),
    ]
    assert len(set(files)) == 6
    done = tool("link", *files[::2], "-o", tmp_path / "all")
    assert done.stdout.split() == [str(tmp_path / "all.h"), str(tmp_path / "all.c")], done.stderr
    main = tmp_path / "main.c"
    main.write_text("""
#include "all.h"
#include <stdio.h>
int main(void) {
  printf("%d\\n", mine_get_num_algos());
  printf("%d ", load_mine());
  printf("%d ", mine_default(NULL, 4096, 8192, 256, 1.5f, 1));
  printf("%d ", mine_default(NULL, 4096, 8192, 256, 1.5f, 2));
  printf("%d ", mine(NULL, 4100, 8192, 257, 1.5f, 3, 1));
  printf("%d ", mine_default(NULL, 4096, 8192, 0, 1.5f, 3));
  printf("%d ", mine(NULL, 4096, 8192, 256, 1.5f, 1, 2));
  printf("%d\\n", unload_mine());
  return 0;
}
""")
    log = tmp_path / "launches"
    program = tmp_path / "main"
    subprocess.run(
        [CC, "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{include}", f"-I{tmp_path}", main,
         tmp_path / "all.c", *files[1::2], libcuda, "-o", program],
        check=True,
    )  # fmt: skip
    environment = {"FAKE_CUDA_LOG": str(log), "LD_LIBRARY_PATH": str(libcuda.parent)}
    done = subprocess.run(
        [program], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.stdout == "2\n0 0 0 0 0 1 0\n", done.stderr
    launches = [line.split()[:6] for line in log.read_text().splitlines()]
    assert launches == [
        ["scale", "2", "1", "1", "128", "0"],
        ["scale", "2", "1", "1", "128", "0"],
        ["scale", "3", "1", "1", "256", "0"],
    ]


def test_the_binary_in_the_source_is_the_kernel(file: Path) -> None:
    header, code = compiled(file, "*fp32:16, *fp32:16, i32:16, fp32, i32:1, 128")
    text = code.read_text()
    numbers = text[text.index("{") + 1 : text.index("};")].replace("\n", " ")
    assert bytes(map(int, numbers.split(","))).startswith(b"\x7fELF")
    assert (
        "(CUstream stream, CUdeviceptr x_ptr, CUdeviceptr out_ptr, int32_t n, float factor, "
        in (header.read_text())
    )
    assert "{&x_ptr, &out_ptr, &n, &factor, NULL}" in text  # step is 1, compiled in


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-s", "*fp32, i32", "-g", "1,1,1"], "the signature has 2 parts, expected 6: x_ptr, out"),
        (["-s", "*fp32,*fp32,i32,q,i32,128", "-g", "1,1,1"], "'q' for 'factor' is neither a const"),
        (["-s", "*fp32,*fp32,i32:8,fp32,i32,128", "-g", "1,1,1"], "is divided by 8, expected 1 or"),
        (["-s", "*fp32,*fp32,i32,fp32,i32,128", "-g", "1"], "the grid is '1', expected three"),
        (["-s", "*fp32", "-g", "1,1,1", "-n", "loud"], "prints, asserts or needs scratch memory"),
        (["-s", "*fp32", "-g", "1,1,1", "-n", "no"], "has no kernel 'no'"),
        (
            ["-s", "*fp32", "-g", "1,1,1", "-n", "loud", "-t", "hip:gfx942:64"],
            "expected one such as",
        ),
    ],
)
def test_wrong_arguments(file: Path, arguments: list[str], message: str) -> None:
    done = tool("compile", file, "-n", "scale", "-t", "cuda:90:32", *arguments)
    assert done.returncode == 2 and done.stderr.startswith("triton.tools.compile: ")
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_headers_that_do_not_fit(file: Path, tmp_path: Path) -> None:
    (tmp_path / "other.h").write_text("int x;\n")
    done = tool("link", tmp_path / "other.h", "-o", tmp_path / "all")
    assert done.returncode == 2 and "was not written by triton.tools.compile" in done.stderr
    first = compiled(file, "*fp32, *fp32, i32, fp32, i32, 128")[0]
    second = compiled(file, "*fp32, *fp32, i64, fp32, i32, 128")[0]
    done = tool("link", first, second, "-o", tmp_path / "all")
    assert done.returncode == 2 and "'mine' takes " in done.stderr
