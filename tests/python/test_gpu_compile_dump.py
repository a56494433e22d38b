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
    (folder,) = (tmp_path / "new" / "folder").iterdir()
    assert folder.name == kernel.metadata.hash
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    name = kernel.data["name"]
    stages = ("cubin", "ll", "plan", "ptx", "tl", "tlg")
    assert sorted(files) == [f"{name}.{stage}" for stage in stages]
    assert files[f"{name}.ptx"].decode() == kernel.asm["ptx"]
    assert files[f"{name}.cubin"] == kernel.asm["cubin"]


def test_kernels_of_one_name_do_not_overwrite_each_other(tmp_path: Path, monkeypatch: Any) -> None:
    kernels = [compile_with_dumps(tmp_path, value, monkeypatch) for value in (3, 4)]
    for kernel in kernels:
        path = tmp_path / kernel.metadata.hash / f"{kernel.data['name']}.ptx"
        assert path.read_text() == kernel.asm["ptx"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CompilationError, match=r"cannot write .*\.tl' into the folder of dumps: "):
        compile_with_dumps(tmp_path / "file" / "below", 2, monkeypatch)
