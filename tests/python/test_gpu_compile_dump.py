"""TRITON_KERNEL_DUMP: every stage of the GPU compiler in a file, or an error that says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope import knobs
from blockscope.errors import CompilationError

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def dumped_kernel(x_ptr, VALUE: tl.constexpr):
    tl.store(x_ptr, VALUE)


def compile_with_dumps(folder: Path, value: int, monkeypatch: Any) -> Any:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    with knobs.compilation.scope(), knobs.cache.scope():
        knobs.compilation.dump_ir = True
        knobs.cache.dump_dir = str(folder)
        return dumped_kernel.warmup(tl.int32, value, grid=(1,), arch="sm_90a")


def test_every_stage_is_in_a_file(tmp_path: Path, monkeypatch: Any) -> None:
    kernel = compile_with_dumps(tmp_path / "new" / "folder", 1, monkeypatch)
    files = {path.name: path.read_text() for path in (tmp_path / "new" / "folder").iterdir()}
    name = kernel.data["name"]
    assert sorted(files) == [f"{name}.{stage}" for stage in ("ll", "ptx", "tl", "tlg")]
    assert files[f"{name}.ptx"] == kernel.asm["ptx"]


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CompilationError, match=r"cannot write .*\.tl' into the folder of dumps: "):
        compile_with_dumps(tmp_path / "file" / "below", 2, monkeypatch)
