"""Options of a launch: each has an effect, or says that it has none there, or changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope.errors import NotYetSupported
from blockscope.runtime.backends.cuda import tools

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def scale_kernel(x_ptr, y_ptr, N: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.extra.cuda.gdc_launch_dependents()
    tl.device_assert(x > 0, "not positive")
    tl.store(y_ptr + offsets, x * 2.0 + 1.0)


def compiled(**options: Any) -> Any:
    return scale_kernel.warmup(
        tl.float32, tl.float32, N=256, grid=(1,), **{"arch": "sm_90a", **options}
    )


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


@pytest.mark.parametrize(
    ("option", "pattern"),
    [
        ({"num_warps": 8}, ".reqntid 256"),
        ({"maxnreg": 40}, ".maxnreg 40"),
        ({"enable_fp_fusion": False}, "add.rn.f32"),
        ({"debug": True}, "atom.global"),
    ],
)
def test_options_with_an_effect(option: dict[str, Any], pattern: str) -> None:
    assert pattern not in compiled().asm["ptx"]
    assert pattern in compiled(**option).asm["ptx"]


def test_more_registers_than_there_are_limit_nothing() -> None:
    assert ".maxnreg" in compiled(maxnreg=255).asm["ptx"]
    kernel = compiled(maxnreg=256)
    assert ".maxnreg" not in kernel.asm["ptx"] and kernel.metadata.maxnreg == 256


def test_options_of_ptxas() -> None:
    assert compiled(ptx_options="-O0").asm["cubin"] != compiled().asm["cubin"]
    with pytest.raises(triton.runtime.errors.PTXASError, match="Unknown option"):
        compiled(ptx_options="--nonsense")


@pytest.mark.parametrize(
    "option",
    [
        {"num_ctas": 1}, {"num_ctas": 4}, {"cluster_dims": (1, 1, 1)}, {"extern_libs": {}},
        {"ir_override": None},
        {"instrumentation_mode": ""}, {"allow_fp8e4nv": True}, {"enable_reflect_ftz": False},
        {"sanitize_overflow": False, "debug": True}, {"sanitize_overflow": True},
        {"waves_per_eu": 2}, {"warp_size": 32}, {"backend_name": "cuda"},
        {"max_num_imprecise_acc_default": 2**30}, {"default_dot_input_precision": "tf32"},
    ],
)  # fmt: skip
def test_options_that_change_nothing(option: dict[str, Any]) -> None:
    if option == {"sanitize_overflow": False, "debug": True}:
        assert compiled(**option).asm["ptx"] == compiled(debug=True).asm["ptx"]
    else:
        assert compiled(**option).asm["ptx"] == compiled().asm["ptx"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            {"cluster_dims": (2, 1, 1)},
            r"cluster_dims is \(2, 1, 1\), expected \(1, 1, 1\); num_ctas says how many CTAs",
        ),
        ({"ir_override": "/x.ttir"}, "ir_override is '/x.ttir', expected a file .ptx or .cubin"),
        ({"instrumentation_mode": "gsan"}, "instrumentation_mode is 'gsan'"),
        ({"warp_size": 64}, "warp_size is 64, expected 32"),
        ({"backend_name": "hip"}, "backend_name is 'hip', expected 'cuda'"),
        ({"max_num_imprecise_acc_default": 0}, "give max_num_imprecise_acc to tl.dot"),
        ({"default_dot_input_precision": "ieee"}, "give input_precision to tl.dot"),
        (
            {"launch_pdl": True, "arch": "sm_80"},
            "launch_pdl needs dependent launches, found sm_80, expected one of sm_90a, sm_100a",
        ),
    ],
)
def test_options_that_are_not_there(option: dict[str, Any], message: str) -> None:
    with pytest.raises(NotYetSupported, match=message):
        compiled(**option)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"launch_pdl": "yes"}, "launch_pdl is 'yes', expected True or False"),
        ({"enable_fp_fusion": 3}, "enable_fp_fusion is 3, expected True or False"),
        ({"ptx_options": ["-v"]}, "ptx_options is .*, expected text for ptxas"),
    ],
)
def test_options_of_a_wrong_type(option: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        compiled(**option)


def test_launches_that_depend() -> None:
    """Between the two instructions lies the load, as in the source."""
    ptx = compiled(launch_pdl=True).asm["ptx"]
    order = [ptx.index("griddepcontrol.wait;"), ptx.index("ld.global")]
    order += [ptx.index("griddepcontrol.launch_dependents;"), ptx.index("st.global")]
    assert order == sorted(order)
    assert "griddepcontrol" not in compiled(arch="sm_80").asm["ptx"]


@pytest.mark.parametrize("arch", ["sm_90a", "sm_90", "sm90a", "sm90", "90a", "90", 90, "h200"])
def test_names_of_a_target(arch: Any) -> None:
    assert compiled(arch=arch).metadata.target.arch == 90


@pytest.mark.parametrize("arch", ["h1000", "sm_h100", "9"])
def test_an_unknown_target_is_shown_as_it_was_given(arch: str) -> None:
    shown = "sm_9" if arch == "9" else arch
    with pytest.raises(ValueError, match=f"unknown GPU architecture '{shown}', expected one of"):
        compiled(arch=arch)


def test_a_ptxas_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/nowhere/ptxas")
    scale_kernel.device_caches.clear()
    message = "kernel 'scale_kernel': TRITON_PTXAS_PATH is '/nowhere/ptxas', expected a program"
    with pytest.raises(triton.runtime.errors.PTXASError, match=message):
        compiled()
    scale_kernel.device_caches.clear()


@triton.jit
def sine(x_ptr, out_ptr):
    at = tl.arange(0, 32)
    tl.store(out_ptr + at, tl.extra.libdevice.sin(tl.load(x_ptr + at)))


def test_libdevice_of_a_launch(tmp_path: Path) -> None:
    """The tutorial about external functions names the file itself."""

    def compiled(**options: Any) -> Any:
        return sine.warmup(tl.float32, tl.float32, grid=(1,), arch="sm_90a", **options)

    copy = tmp_path / "libdevice.10.bc"
    copy.write_bytes(Path(tools.libdevice()).read_bytes())
    for libraries in ({"libdevice": str(copy)}, (("libdevice", copy),)):
        kernel = compiled(extern_libs=libraries)
        assert kernel.asm["ptx"] == compiled().asm["ptx"]
        assert kernel.metadata.extern_libs == (("libdevice", str(copy)),)
    broken = tmp_path / "broken.bc"
    broken.write_bytes(b"no bitcode")
    with pytest.raises(triton.CompilationError, match="broken.bc"):
        compiled(extern_libs={"libdevice": str(broken)})
    with pytest.raises(FileNotFoundError, match="names '/nowhere.bc' as libdevice"):
        compiled(extern_libs={"libdevice": "/nowhere.bc"})


def test_libdevice_is_that_of_the_toolkit_of_ptxas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRITON_LIBDEVICE_PATH", raising=False)
    found, ptxas = tools.libdevice(), tmp_path / "bin" / "ptxas"
    beside = tmp_path / "nvvm" / "libdevice" / "libdevice.10.bc"
    ptxas.parent.mkdir()
    ptxas.symlink_to(tools.ptxas())
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(ptxas))
    assert Path(tools.libdevice()).is_file()  # that of a package, or of CUDA_HOME
    beside.parent.mkdir(parents=True)
    beside.write_bytes(Path(found).read_bytes())
    assert tools.libdevice() == str(beside)
