"""Functions of users' bitcode (``extern_libs``): on the CPU in both modes by LLVM's JIT, in PTX by
linking, and what cannot be called."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import ptx_machine
import pytest
from blockscope.language import core
from blockscope.runtime.jit import MockTensor

torch = pytest.importorskip("torch")

needs_tools = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)

#: As clang writes it for CUDA: intrinsics of NVPTX, libdevice, tables, attributes of a GPU.
LIBRARY = """
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@table = internal unnamed_addr addrspace(4) constant [4 x float]
  [float 1.0, float 10.0, float 100.0, float 1000.0]
@tile = internal addrspace(3) global [4 x float] undef
@count = internal addrspace(1) global i32 0

define float @users_power(float noundef %x, i32 noundef %n) #0 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %product = phi float [ 1.0, %entry ], [ %more, %body ]
  %goes_on = icmp slt i32 %i, %n
  br i1 %goes_on, label %body, label %end
body:
  %more = fmul float %product, %x
  %next = add i32 %i, 1
  br label %loop
end:
  ret float %product
}
define float @users_gelu(float %x) #0 {
  %e = call float @__nv_expf(float %x)
  %p = call float @llvm.nvvm.ex2.approx.ftz.f(float %e)
  %r = call float @llvm.nvvm.rcp.rn.f(float %p)
  %m = call float @llvm.nvvm.fma.rn.f(float %r, float %x, float 1.0)
  ret float %m
}
define float @users_table(i32 %i) {
  %at = and i32 %i, 3
  %p = getelementptr [4 x float], ptr addrspace(4) @table, i32 0, i32 %at
  %v = load float, ptr addrspace(4) %p
  ret float %v
}
define i32 @users_divide(i32 %x, i32 %y) {
  %q = sdiv i32 %x, %y
  ret i32 %q
}
define i32 @users_convert(double %x) {
  %i = call i32 @llvm.nvvm.d2i.rn(double %x)
  %h = call i32 @llvm.nvvm.mulhi.ui(i32 %i, i32 -1)
  %s = add i32 %i, %h
  ret i32 %s
}
define zeroext i1 @users_is_small(i8 signext %x, i1 zeroext %flip) {
  %small = icmp slt i8 %x, 3
  %r = xor i1 %small, %flip
  ret i1 %r
}
define i16 @users_negate(i16 %bits) {
  %r = xor i16 %bits, -32768
  ret i16 %r
}
define double @users_two() {
  ret double 2.5
}
define i32 @users_next(i32 %step) {
  %before = load i32, ptr addrspace(1) @count
  %after = add i32 %before, %step
  store i32 %after, ptr addrspace(1) @count
  ret i32 %before
}
define float @users_with_help(float %x) {
  %y = call float @helpers_twice(float %x)
  ret float %y
}
define float @users_from_memory(ptr %p) {
  %v = load float, ptr %p
  ret float %v
}
define float @users_wild(i64 %address) {
  %p = inttoptr i64 %address to ptr
  %v = load float, ptr %p
  ret float %v
}
define float @users_tile(i32 %i) {
  %p = getelementptr [4 x float], ptr addrspace(3) @tile, i32 0, i32 %i
  %v = load float, ptr addrspace(3) %p
  ret float %v
}
define i32 @users_lane(i32 %x) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %r = add i32 %x, %lane
  ret i32 %r
}
define i32 @users_assembly(i32 %x) {
  %r = call i32 asm "add.s32 $0, $1, 1;", "=r,r"(i32 %x)
  ret i32 %r
}
define i32 @users_stop(i32 %x) {
  %bad = icmp eq i32 %x, 0
  br i1 %bad, label %stop, label %go
stop:
  call void @llvm.trap()
  unreachable
go:
  ret i32 %x
}
declare float @__nv_expf(float)
declare float @helpers_twice(float)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare float @llvm.nvvm.rcp.rn.f(float)
declare float @llvm.nvvm.fma.rn.f(float, float, float)
declare i32 @llvm.nvvm.d2i.rn(double)
declare i32 @llvm.nvvm.mulhi.ui(i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare void @llvm.trap()
attributes #0 = { convergent "target-cpu"="sm_70" "target-features"="+ptx70,+sm_70" }
"""
HELPERS = """
target triple = "nvptx64-nvidia-cuda"
define float @helpers_twice(float %x) {
  %y = fadd float %x, %x
  ret float %y
}
"""
F32, F64, I32, I64 = tl.float32, tl.float64, tl.int32, tl.int64
#: name: types of the arguments, of the result
SIGNATURES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "users_power": ((F32, I32), F32),
    "users_gelu": ((F32,), F32),
    "users_table": ((I32,), F32),
    "users_divide": ((I32, I32), I32),
    "users_convert": ((F64,), I32),
    "users_is_small": ((tl.int8, tl.int1), tl.int1),
    "users_negate": ((tl.bfloat16,), tl.bfloat16),
    "users_two": ((), F64),
    "users_next": ((I32,), I32),
    "users_with_help": ((F32,), F32),
    "users_from_memory": ((tl.pointer_type(F32),), F32),
    "users_wild": ((I64,), F32),
    "users_tile": ((I32,), F32),
    "users_lane": ((I32,), I32),
    "users_assembly": ((I32,), I32),
    "users_stop": ((I32,), I32),
    "users_nothing": ((I32,), I32),
    "users_integer": ((I32,), I32),
}
LLVM_AS = "/usr/lib/llvm-22/bin/llvm-as"


@core.extern
def users(name: Any, *args: Any, is_pure: Any = True, _semantic: Any = None) -> Any:
    name = getattr(name, "value", name)
    symbol = "users_gelu" if name == "users_integer" else name
    types, result = SIGNATURES[name]
    table = {types: (symbol, result)}
    return core.extern_elementwise(
        "users", "", list(args), table, is_pure=is_pure, _semantic=_semantic
    )


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One as bitcode, one as text."""
    folder = tmp_path_factory.mktemp("libraries")
    text, bitcode, helpers = folder / "users.ll", folder / "users.bc", folder / "helpers.ll"
    text.write_text(LIBRARY)
    helpers.write_text(HELPERS)
    subprocess.run([LLVM_AS, text, "-o", bitcode], check=True)
    return {"users": str(bitcode), "helpers": str(helpers)}


@triton.jit
def all_kernel(x_ptr, n_ptr, y_ptr, i_ptr, HAS_TABLES: tl.constexpr = True):
    at = tl.arange(0, 32)
    x = tl.load(x_ptr + at)
    n = tl.load(n_ptr + at)
    tl.store(y_ptr + at, users("users_power", x, n & 3))
    tl.store(y_ptr + 32 + at, users("users_gelu", x))
    if HAS_TABLES:  # ptx_machine.py has no variables in memory
        tl.store(y_ptr + 64 + at, users("users_table", n))
    tl.store(y_ptr + 96 + at, users("users_with_help", x))
    tl.store(y_ptr + 128 + at, users("users_two").to(tl.float32) + x)
    tl.store(y_ptr + 160 + at, users("users_negate", x.to(tl.bfloat16)).to(tl.float32))
    tl.store(y_ptr + 192 + at, users("users_power", x, 2))
    tl.store(i_ptr + at, users("users_divide", n, n // 3))
    tl.store(i_ptr + 32 + at, users("users_convert", x.to(tl.float64)))
    tl.store(i_ptr + 64 + at, users("users_is_small", n.to(tl.int8), x > 1).to(tl.int32))


def inputs() -> tuple[Any, Any, Any, Any]:
    x = torch.linspace(-2, 3, 32)
    n = torch.arange(32, dtype=torch.int32)
    return x, n, torch.zeros(7 * 32), torch.zeros(3 * 32, dtype=torch.int32)


def check(x: Any, n: Any, y: Any, i: Any, *, on_gpu: bool) -> None:
    rows = y.reshape(7, 32)
    torch.testing.assert_close(rows[0], x ** (n & 3))
    torch.testing.assert_close(rows[1], x / torch.exp2(torch.exp(x)) + 1)
    table = torch.tensor([1.0, 10.0, 100.0, 1000.0])
    if not on_gpu:
        torch.testing.assert_close(rows[2], table[n.long() & 3])
    torch.testing.assert_close(rows[3], 2 * x)
    torch.testing.assert_close(rows[4], x + 2.5)
    torch.testing.assert_close(rows[5], -x.to(torch.bfloat16).float())
    torch.testing.assert_close(rows[6], x * x)
    numbers = i.reshape(3, 32)
    whole = slice(3 if on_gpu else 0, None)  # a GPU gives anything for a division by zero
    quotient = torch.where(n < 3, n, n // torch.clamp(n // 3, min=1))
    assert numbers[0][whole].tolist() == quotient[whole].tolist()
    rounded = torch.round(x.double()).to(torch.int64)
    expected = [int(v) + ((int(v) & 0xFFFFFFFF) * 0xFFFFFFFF >> 32) for v in rounded]
    assert [v & 0xFFFFFFFF for v in numbers[1].tolist()] == [v & 0xFFFFFFFF for v in expected]
    assert numbers[2].tolist() == ((n < 3) ^ (x > 1)).int().tolist()


@pytest.mark.parametrize("steps", [False, True])
def test_the_cpu_runs_them(
    libraries: dict[str, str], steps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if steps:
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    values = inputs()
    triton.jit(all_kernel.fn)[(1,)](*values, extern_libs=libraries)
    check(*values, on_gpu=False)


@needs_tools
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_a_gpu_has_them_linked(libraries: dict[str, str], arch: str) -> None:
    values = [value.numpy() for value in inputs()]
    mocks = [MockTensor(tl.dtype({"f": "fp", "i": "int"}[v.dtype.kind] + "32")) for v in values]
    kernel = all_kernel.warmup(
        *mocks,
        HAS_TABLES=False,
        grid=(1,),
        arch=arch,
        num_warps=1,
        extern_libs=tuple(libraries.items()),
    )
    assert "users_power" not in kernel.asm["ptx"]  # inlined, and hidden
    ptx_machine.run(kernel, values)
    check(*map(torch.from_numpy, values), on_gpu=True)


@triton.jit
def one_kernel(x_ptr, y_ptr, NAME: tl.constexpr):
    at = tl.arange(0, 4)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, users(NAME, x))


@triton.jit
def pointer_kernel(x_ptr, y_ptr):
    at = tl.arange(0, 4)
    tl.store(y_ptr + at, users("users_from_memory", x_ptr + at))


def run_one(name: str, libraries: Any, **options: Any) -> Any:
    x = torch.arange(4, dtype=torch.int64 if name == "users_wild" else torch.int32)
    if name == "users_from_memory":
        return pointer_kernel[(1,)](x.float(), x.float(), extern_libs=libraries, **options)
    return one_kernel[(1,)](x, torch.zeros(4), NAME=name, extern_libs=libraries, **options)


REFUSED = {
    "users_from_memory": "it takes or gives pointers",
    "users_wild": "it uses memory that is not its own",
    "users_tile": "it uses shared memory",
    "users_lane": "it calls 'llvm.nvvm.read.ptx.sreg.laneid'",
    "users_assembly": "it has inline assembly",
    "users_stop": "it calls 'llvm.trap'",
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("steps", [False, True])
def test_what_the_cpu_does_not_run(
    libraries: dict[str, str], name: str, steps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if steps:
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    kind = ValueError if steps else triton.CompilationError
    with pytest.raises(kind) as caught:
        run_one(name, libraries)
    text = str(caught.value)
    path = libraries["users"]
    assert f"'{name}' of '{path}'" in text
    assert f"cannot run on the CPU: {REFUSED[name]}" in text
    assert steps or Path(__file__).name in text


@needs_tools
def test_a_gpu_takes_pointers(libraries: dict[str, str]) -> None:
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    kernel = pointer_kernel.warmup(
        tl.float32, tl.float32, grid=(1,), arch="sm_90a", num_warps=1, extern_libs=libraries
    )
    ptx_machine.run(kernel, [x, y])
    assert y.tolist() == x.tolist()


WRONG = {
    "users_nothing": "'users_nothing' is no function of ",
    "users_integer": r"'users_gelu' of the library is \(float\) -> float, this call needs "
    r"\(i32\) -> i32",
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("arch", ["cpu", pytest.param("sm_80", marks=needs_tools)])
def test_wrong_calls(libraries: dict[str, str], name: str, arch: str) -> None:
    with pytest.raises(triton.CompilationError, match=WRONG[name]) as caught:
        one_kernel.warmup(
            tl.int32, tl.float32, NAME=name, grid=(1,), arch=arch, extern_libs=libraries
        )
    assert Path(__file__).name in str(caught.value)


@pytest.mark.parametrize("arch", ["cpu", pytest.param("sm_80", marks=needs_tools)])
def test_a_function_of_no_library(libraries: dict[str, str], arch: str) -> None:
    alone = {"users": libraries["users"]}
    options = {"grid": (1,), "arch": arch}
    with pytest.raises(triton.CompilationError, match="'helpers_twice', which "):
        all_kernel.warmup(F32, I32, F32, I32, extern_libs=alone, **options)
    with pytest.raises(triton.CompilationError, match=r"name the bitcode .* extern_libs="):
        all_kernel.warmup(F32, I32, F32, I32, **options)


def test_files_that_are_no_libraries(tmp_path: Path) -> None:
    broken = tmp_path / "broken.bc"
    broken.write_bytes(b"no bitcode")
    with pytest.raises(triton.CompilationError, match="cannot read '.*broken.bc' as LLVM bitcode"):
        run_one("users_lane", {"users": str(broken)})
    with pytest.raises(FileNotFoundError, match="extern_libs names '/nowhere.bc' as users"):
        run_one("users_divide", {"users": "/nowhere.bc"})
    with pytest.raises(TypeError, match="expected names and paths"):
        run_one("users_divide", [str(broken)])


@triton.jit
def counting_kernel(y_ptr):
    users("users_next", 1, is_pure=False)
    tl.store(y_ptr, users("users_next", 1, is_pure=False))
    tl.store(y_ptr + 1, users("users_next", 0, is_pure=False))


def test_calls_with_effects_stay(libraries: dict[str, str]) -> None:
    y = torch.zeros(2, dtype=torch.int32)
    counting_kernel[(1,)](y, extern_libs=libraries)
    assert y.tolist()[1] == y.tolist()[0] + 1 >= 2


@triton.jit
def scale_kernel(x_ptr):
    at = tl.arange(0, 4)
    tl.store(x_ptr + at, users("users_gelu", tl.load(x_ptr + at)))


@pytest.mark.parametrize("arch", ["cpu", pytest.param("sm_80", marks=needs_tools)])
def test_a_changed_library_is_read_again(tmp_path: Path, arch: str) -> None:
    path = tmp_path / "gelu.ll"
    texts = []
    for factor in ("2.0", "4.0"):
        body = f"%y = fmul float %x, {factor}\n  ret float %y"
        path.write_text(f"define float @users_gelu(float %x) {{\n  {body}\n}}\n")
        if arch == "cpu":
            x = torch.ones(4)
            scale_kernel[(1,)](x, extern_libs={"gelu": str(path)})
            assert x.tolist() == [float(factor)] * 4
        else:
            kernel = scale_kernel.warmup(F32, grid=(1,), arch=arch, extern_libs={"gelu": str(path)})
            texts.append(kernel.asm["ptx"])
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("where", ["path", "launch"])
def test_a_call_may_name_its_library(libraries: dict[str, str], where: str) -> None:
    @core.extern
    def power(x: Any, _semantic: Any = None) -> Any:
        path = libraries["users"] if where == "path" else "only a name"
        table = {(I32,): ("users_table", F32)}
        return core.extern_elementwise("users", path, [x], table, is_pure=True)

    @triton.jit
    def kernel(y_ptr):
        at = tl.arange(0, 4)
        tl.store(y_ptr + at, power(at))

    y = torch.zeros(4)
    kernel[(1,)](y, extern_libs=libraries if where == "launch" else None)
    assert y.tolist() == [1.0, 10.0, 100.0, 1000.0]
