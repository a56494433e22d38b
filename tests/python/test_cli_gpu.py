"""The commands compile and verify: what can be said of them without a GPU."""

import argparse
import re
import sys
import textwrap
import time

import blockscope
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope import _core
from blockscope.cli import compiled_launches
from blockscope.cli.compile import Printer
from blockscope.cli.launch_copies import CannotCopy, Copies
from blockscope.cli.predictions import device_named
from blockscope.cli.usage import UsageError
from blockscope.cli.verify import Launch, Verifier, differences, ending, inexact_ops
from blockscope.runtime.backends.cuda import gpu_names
from blockscope.runtime.backends.cuda.occupancy import occupancy
from blockscope.runtime.jit import JITFunction
from test_cli import GOOD, command

torch = pytest.importorskip("torch")
needs_tools = pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(GOOD))
    return path


# --- compile --------------------------------------------------------------------------------------


@needs_tools
def test_compile_says_what_a_kernel_costs(script):
    done = command("compile", "--target", "sm_80,sm_90", "--time", script)
    assert done.returncode == 0, done.stderr
    signature = r"add\(pointer<fp32>:16, pointer<fp32>:16, int32, BLOCK=256\)"
    lines = re.findall(signature + r" at .*script\.py:4 for (sm_\w+), 4 warps: (.*)", done.stdout)
    assert [target for target, _ in lines] == ["sm_80", "sm_90a"]
    for _, cost in lines:
        assert re.match(r"\d+ registers, no spills, 0 bytes of shared memory, occupancy \d+%", cost)
    assert len(re.findall(r"time: tlg .* ptxas [\d.]+ = [\d.]+ ms", done.stdout)) == 2
    assert "1000.0" in done.stdout  # the script ran, on the CPU


@needs_tools
def test_compile_emits_stages(script, tmp_path):
    folder = tmp_path / "out"
    assert command("compile", "--emit", "cubin", "-o", folder, script).returncode == 0
    (cubin,) = folder.iterdir()
    assert cubin.name == "01-add.sm_90a.cubin" and cubin.read_bytes()[:4] == b"\x7fELF"
    assert ".visible .entry add(" in command("compile", "--emit", "ptx", script).stdout
    assert command("compile", "-o", tmp_path / "ptx", script).returncode == 0
    (ptx,) = (tmp_path / "ptx").iterdir()
    assert ptx.name == "01-add.sm_90a.ptx" and ".visible .entry add(" in ptx.read_text()
    assert "tl.load" in command("compile", "--emit", "tl", script).stdout


@needs_tools
def test_targets_have_the_same_names_in_all_commands(script, tmp_path):
    for name, arch in (("h200", "sm_90a"), ("A100", "sm_80"), ("90", "sm_90a")):
        assert f" for {arch}" in command("compile", "--target", name, script).stdout
        done = command("trace", "--target", name, "-o", tmp_path / "T.h5", script)
        assert done.returncode == 0, done.stderr
    for words in (["compile"], ["trace", "-o", tmp_path / "T.h5"]):
        done = command(*words, "--target", "h300", script)
        assert done.returncode == 2 and "'h300', expected one of sm_80, " in done.stderr
        assert "h100, " in done.stderr and "sm_90a, " in done.stderr


@needs_tools
def test_compile_tells_wrong_use(script):
    done = command("compile", "--target", "sm_70", script)
    assert done.returncode == 2 and "unknown GPU architecture 'sm_70'" in done.stderr
    done = command("compile", "--emit", "cubin", script)
    assert done.returncode == 2 and "-o FOLDER" in done.stderr
    done = command("compile", "--json", "-o", "x", script)
    assert done.returncode == 2 and "without --emit, -o and --time" in done.stderr


TWO = """
import torch, triton, triton.language as tl

@triton.jit
def j(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)

@triton.jit
def k(x_ptr, B: tl.constexpr):
    with open("x"):
        tl.store(x_ptr + tl.arange(0, B), 1.0)

for block in (8, 16):
    try:
        j[(1,)](torch.zeros(32), B=block, warp_size=64)
    except ValueError:
        pass
k[(1,)](torch.zeros(32), B=8)
"""


@needs_tools
def test_compile_loses_no_kernel_that_fails(tmp_path):
    path = tmp_path / "two.py"
    path.write_text(TWO)
    done = command("compile", "--target", "90", path)
    assert done.returncode == 1
    heads = [line.split(" at ")[0] for line in done.stdout.splitlines() if "error:" in line]
    assert heads == [f"{name}(pointer<fp32>:16, B={b})" for name, b in
                     (("j", 8), ("j", 16), ("k", 8))], done.stdout  # fmt: skip
    # The report has the error of the script's last line already.
    assert done.stderr == "blockscope: the script ended by an error that is reported above\n"


@needs_tools
def test_compile_tells_of_a_ptxas_that_is_not_there(script):
    done = command("compile", script, env={"TRITON_PTXAS_PATH": "/nowhere/ptxas"})
    assert done.returncode == 2
    assert "TRITON_PTXAS_PATH is '/nowhere/ptxas', expected a program that can be" in done.stderr


TUNED = """
import torch, triton, triton.language as tl

def resets(arguments):
    assert arguments["x_ptr"] is not None

@triton.autotune(
    [triton.Config({"BLOCK": 256}, num_warps=w, num_stages=s, pre_hook=resets)
     for w, s in ((2, 3), (4, 3), (8, 2))],
    key=["n"],
)
@triton.jit
def add(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x * 2, mask=offsets < n)

for _ in range(2):
    add[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](torch.zeros(1000), 1000)
"""


@needs_tools
def test_compile_compiles_all_configurations_of_an_autotuned_kernel(tmp_path):
    path = tmp_path / "tuned.py"
    path.write_text(TUNED)
    done = command("compile", path)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^add\(.*\) at .* for sm_90a, (.*): \d+ registers", done.stdout, re.M)
    assert found == ["2 warps", "4 warps", "8 warps, 2 stages"]


def test_occupancy():
    hopper, ampere = _core.gpu.target_named("sm_90a"), _core.gpu.target_named("sm_86")
    assert occupancy(hopper, 32, 4, 0).share == 1.0
    assert occupancy(hopper, 255, 8, 0) == occupancy(hopper, 250, 8, 1024)
    full = occupancy(hopper, 128, 8, 200 << 10)
    assert (full.ctas, full.limit) == (1, "shared memory")
    assert occupancy(ampere, 32, 4, 0).ctas == 12  # 48 warps
    assert occupancy(hopper, 64, 4, 230 << 10).ctas == 0


# --- verify ---------------------------------------------------------------------------------------


@blockscope.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * factor, mask=offsets < n)


STORE_LINE = scale_kernel.fn.__code__.co_firstlineno + 4


def launched():
    """A launch, its tensors, and copies of them after it ran in both."""
    x, out = torch.arange(64.0), torch.zeros(16, 8)[:, :4]
    launch = Launch(JITFunction._run, scale_kernel, (x, out, 64, 3.0), (4,), {"BLOCK": 16})
    on_cpu, other = launch.copies("cpu"), launch.copies("cpu")
    launch.run_on(on_cpu)
    launch.run_on(other)
    return launch, on_cpu, other


@pytest.mark.skipif(_core.gpu.why_unavailable() is None, reason="there is a GPU")
def test_verify_without_a_gpu_says_so(script):
    done = command("verify", script)
    assert done.returncode == 2
    assert "verify compares with a GPU, and there is none to use: " in done.stderr


def test_equal_runs_have_no_differences():
    launch, on_cpu, other = launched()
    assert list(launch.tensors) == ["x_ptr", "out_ptr"]
    assert differences(launch, on_cpu, other) == []


def test_a_difference_names_element_program_and_line():
    launch, on_cpu, other = launched()
    other.tensor(launch.tensors["out_ptr"])[5, 2] += 1.0  # the store of flat element 42
    lines = differences(launch, on_cpu, other)
    assert lines == [
        "'out_ptr' differs in 1 of 64 elements, expected the same bits",
        "  first at [5, 2]: CPU 126.0, GPU 127.0",
        f"  written by program (2, 0, 0) in {__file__}:{STORE_LINE} (tl.store)",
    ]
    assert on_cpu.tensor(launch.tensors["out_ptr"])[5, 2] == 126.0  # the second run left it


def test_the_algebra_allows_no_difference():
    x = torch.randn(4, 1024, generator=torch.Generator().manual_seed(1))
    with blockscope.algebra():
        launch = Launch(JITFunction._run, row_sum_kernel, (x, torch.zeros(4)), (4,), {"N": 1024})
        on_cpu, other = launch.copies("cpu"), launch.copies("cpu")
        launch.run_on(on_cpu)
        launch.run_on(other)
        assert differences(launch, on_cpu, other) == []
        # The last bit, which is rounding elsewhere, and another NaN.
        for copies, bits in (on_cpu, 0x7FC00000), (other, 0x7FC00001):
            copies.tensor(launch.tensors["out_ptr"]).view(torch.int32)[1] = bits
        other.tensor(launch.tensors["out_ptr"]).view(torch.int32)[0] ^= 1
        found = differences(launch, on_cpu, other)[0]
    assert found == "'out_ptr' differs in 2 of 4 elements, expected the same bits"


def test_a_difference_beside_the_views_is_found():
    launch, on_cpu, other = launched()
    other.storage(launch.tensors["out_ptr"])[4 * 8 * 15 + 4 * 4] = 1
    (line,) = differences(launch, on_cpu, other)
    assert "storage of 'out_ptr' differs outside of the views" in line and line.endswith("byte 496")


@blockscope.jit
def places_kernel(x_ptr, out_ptr, count_ptr, RETURNS: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0))
    place = tl.atomic_add(count_ptr, 1)
    tl.store(out_ptr + (place if RETURNS else tl.program_id(0)), x)


@pytest.mark.parametrize("returns", [True, False])
def test_differences_behind_atomics_say_that_the_order_may_be_another(returns):
    """Items that programs put into the next free place of a list, as strangers' kernels do."""
    tensors = torch.arange(4), torch.zeros(4, dtype=torch.int64), torch.zeros(1, dtype=torch.int32)
    launch = Launch(JITFunction._run, places_kernel, tensors, (4,), {"RETURNS": returns})
    on_cpu, other = launch.copies("cpu"), launch.copies("cpu")
    launch.run_on(on_cpu)
    launch.run_on(other)
    # Not of its own result: programs may have come in another order there.
    tensor = launch.tensors["out_ptr"]
    other.tensor(tensor).copy_(on_cpu.tensor(tensor).flip(0))
    lines = differences(launch, on_cpu, other)
    assert lines[0] == "'out_ptr' differs in 4 of 4 elements, expected the same bits"
    assert lines[3:] == returns * [
        "  the kernel uses what an atomic returns; that depends on which program comes first, and "
        "so may this"
    ]


def test_which_operations_may_differ():
    assert inexact_ops("arith.addi : i32", fuses=True) == []
    assert inexact_ops("tl.reduce : tensor<8xi32>", fuses=True) == []
    assert inexact_ops("arith.addf : tensor<8xf16>", fuses=True) == []
    assert inexact_ops("arith.divf, math.sqrt : f32", fuses=False) == ["arith.divf", "math.sqrt"]
    assert inexact_ops("math.exp, tl.dot : f16", fuses=False) == ["math.exp", "tl.dot"]
    assert inexact_ops("arith.mulf, arith.addf : f32", fuses=True) == ["arith.mulf"]
    assert inexact_ops("arith.mulf, arith.addf : f32", fuses=False) == []
    assert inexact_ops("tl.to_payload, tl.dot, math.absf : f32", fuses=True) == []


@blockscope.jit
def gelu_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476)))


@blockscope.jit
def exp_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.exp(tl.load(x_ptr + offsets)))


@blockscope.jit
def row_sum_kernel(x_ptr, out_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.sum(tl.load(x_ptr + row * N + tl.arange(0, N))))


@blockscope.jit
def dot_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr, PRECISION: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    x, y = tl.load(x_ptr + i * N + j), tl.load(y_ptr + i * N + j)
    tl.store(out_ptr + i * N + j, tl.dot(x, y, input_precision=PRECISION))


@blockscope.jit
def quantize_kernel(x_ptr, out_ptr, scale, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, (tl.load(x_ptr + i) / scale + 0.5).to(tl.int8))


@blockscope.jit
def add_up_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.atomic_add(out_ptr + tl.arange(0, N) % 4, tl.load(x_ptr + i))


@blockscope.jit
def rotate_kernel(x_ptr, y_ptr, cos_ptr, sin_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, x * tl.load(cos_ptr + i) - y * tl.load(sin_ptr + i))


def wrong_elements(kernel, tensors, grid, change, **constants):
    """How many elements `verify` complains of where the other run has `change` of the results."""
    launch = Launch(JITFunction._run, kernel, tensors, grid, constants)
    on_cpu, other = launch.copies("cpu"), launch.copies("cpu")
    launch.run_on(on_cpu)
    launch.run_on(other)
    out = launch.tensors["out_ptr"]
    other.tensor(out).copy_(change(other.tensor(out)))
    lines = differences(launch, on_cpu, other)
    return int(re.match(r"'out_ptr' differs in (\d+) of", lines[0])[1]) if lines else 0


def test_bounds_are_those_of_each_element():
    """Of results from 2e-9 to 5e8 each is held to its own size."""
    x = torch.linspace(-20, 20, 64)
    for factor, wrong in (1 + 3e-7, 0), (1 + 1e-4, 64):
        change = lambda out, factor=factor: out * factor
        out = torch.zeros(64)
        assert wrong_elements(exp_kernel, (x, out), (4,), change, BLOCK=16) == wrong


def test_bounds_know_of_cancellation():
    """Near -4 the errors of erf are 0.001 of gelu; near 4 they are the last bit."""
    x = torch.cat([torch.full((16,), -4.0), torch.full((16,), 4.0)])
    for error, wrong in (2e-7, 0), (2e-5, 32):
        out = torch.zeros(32)
        change = lambda out, error=error: out + error * x.abs()
        assert wrong_elements(gelu_kernel, (x, out), (2,), change, BLOCK=16) == wrong
    out = torch.zeros(32)
    change = lambda out: out * (1 + 1e-4)
    assert wrong_elements(gelu_kernel, (x, out), (2,), change, BLOCK=16) == 16


def test_a_fused_multiply_add_may_differ_where_errors_cancel():
    """Of thousands of elements in some the errors of all runs happen to cancel."""
    random = torch.Generator().manual_seed(3)
    x, y, cos, sin = (torch.randn(1 << 14, generator=random) for _ in range(4))
    fused = lambda out: (x.double() * cos.double() - (y * sin).double()).float()
    for change, wrong in (fused, 0), (lambda out: -out, 1 << 14):
        tensors = (x, y, cos, sin, torch.zeros(1 << 14))
        assert wrong_elements(rotate_kernel, tensors, (1,), change, N=1 << 14) == wrong


def test_bounds_of_sums_are_those_of_each_sum():
    x = torch.randn(4, 1024, generator=torch.Generator().manual_seed(1))
    x[2:] *= 1e-6
    other_order = lambda _: x.flip(1).cumsum(1)[:, -1]  # one after the other
    assert wrong_elements(row_sum_kernel, (x, torch.zeros(4)), (4,), other_order, N=1024) == 0
    off = lambda out: out + 1e-3
    assert wrong_elements(row_sum_kernel, (x, torch.zeros(4)), (4,), off, N=1024) == 4
    off = lambda out: out + 1e-6
    assert wrong_elements(row_sum_kernel, (x, torch.zeros(4)), (4,), off, N=1024) == 2


def test_bounds_of_products_follow_their_precision():
    random = torch.Generator().manual_seed(2)
    x, y = (torch.randn(64, 64, generator=random) for _ in range(2))
    x[32:] *= 1e-5

    def count(precision, factor):
        def change(out):
            return out + factor * (x.abs() @ y.abs())

        tensors = (x, y, torch.zeros(64, 64))
        return wrong_elements(dot_kernel, tensors, (1,), change, N=64, PRECISION=precision)

    assert count("ieee", 2e-7) == 0 and count("ieee", 1e-4) == 4096
    assert count("tf32", 5e-4) == 0 and count("tf32", 5e-2) == 4096


def test_whole_numbers_may_differ_where_rounding_decides():
    scale = 0.1
    x = torch.arange(64) * scale + 0.5 * scale  # every quotient lies between two numbers
    x[32:] += 0.2 * scale
    for_sixteen = torch.zeros(64, dtype=torch.int8)
    change = lambda out: out - 1
    found = wrong_elements(quantize_kernel, (x, for_sixteen, scale), (1,), change, N=64)
    assert found == 32


def test_sums_in_memory_may_come_in_any_order():
    x = torch.randn(8, 64, generator=torch.Generator().manual_seed(3))
    for error, wrong in (1e-6, 0), (1e-3, 4):
        change = lambda out, error=error: out + error
        assert wrong_elements(add_up_kernel, (x, torch.zeros(4)), (8,), change, N=64) == wrong


@blockscope.jit
def through_table(table, out):
    pointer = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0), tl.load(pointer))
    tl.store(pointer, 7.0)


def test_tensors_behind_a_table_of_addresses_are_verified_too():
    values, out = [torch.full((4,), float(i)) for i in (1, 2)], torch.zeros(2)
    table = torch.tensor([value.data_ptr() for value in values])
    addresses = table.clone()
    launch = Launch(JITFunction._run, through_table, (table, out), (2,), {})
    assert list(launch.tensors) == ["table", "out", "table[0]", "table[1]"]
    on_cpu, other = launch.copies("cpu"), launch.copies("cpu")
    launch.run_on(on_cpu)
    launch.run_on(other)
    assert differences(launch, on_cpu, other) == []
    assert on_cpu.tensor(values[1]).tolist() == [7, 2, 2, 2] and values[1][0] == 2  # not yet
    other.tensor(values[1])[0] = 8.0
    lines = differences(launch, on_cpu, other)
    assert lines[:2] == [
        "'table[1]' differs in 1 of 4 elements, expected the same bits",
        "  first at [0]: CPU 7.0, GPU 8.0",
    ]
    assert lines[2].startswith("  written by program (1, 0, 0) in ")
    on_cpu.copy_back(launch.tensors)
    assert values[1][0] == 7 and out.tolist() == [1, 2] and torch.equal(table, addresses)


def test_addresses_of_nothing_are_not_verified():
    value = torch.ones(1)
    table = torch.tensor([value.data_ptr(), 1 << 40])
    with pytest.raises(CannotCopy, match=r"'table\[1\]' is the address of no live tensor"):
        Launch(JITFunction._run, through_table, (table, torch.zeros(2)), (1,), {})
    with pytest.raises(CannotCopy, match="no argument holds any"):
        Launch(JITFunction._run, through_table, (table[:0], torch.zeros(2)), (1,), {})


def test_a_verified_launch_leaves_its_results():
    verifier = Verifier("cpu")  # both runs on the CPU: what is around them is the same
    x, out = torch.arange(8.0), torch.zeros(8)
    with verifier.watching():
        scale_kernel[(1,)](x, out, 8, 2.0, BLOCK=8)
    assert torch.equal(out, 2 * x)
    assert verifier.summary() == "verify: 1 launches, 0 with differences"


@pytest.mark.parametrize(
    ("algebra", "launches", "status"), [(True, 1, 0), (True, 0, 1), (False, 1, 1)]
)
def test_a_comparison_in_the_file_fails_in_the_algebra(algebra, launches, status, capsys):
    verifier = Verifier("cpu")
    verifier.launches = launches
    assert ending(verifier, 1, argparse.Namespace(algebra=algebra, exit_code=66)) == status
    assert ("which does not count" in capsys.readouterr().err) == (status == 0)


def test_copies_keep_views_of_one_storage_together():
    whole = torch.arange(10)
    tensors = {"low": whole[:6], "high": whole[4:]}
    copies = Copies(tensors, "cpu")
    copies.tensor(tensors["low"])[5] = -1
    assert copies.tensor(tensors["high"])[1] == -1 and whole[5] == 5
    pair = copies.argument((tensors["low"], 1))
    assert pair[0][5] == -1 and pair[1] == 1
    copies.copy_back(tensors)
    assert whole[5] == -1


@pytest.mark.parametrize(
    ("name", "arch"),
    [("l4", "sm_89"), ("RTX 4090", "sm_89"), ("rtx-3060ti", "sm_86"), ("b200", "sm_100a"),
     ("GB300", "sm_103a"), ("nvidia a10", "sm_86"), ("orin", "sm_87"), ("rtx5090", "sm_120a"),
     ("spark", "sm_121a"), ("h100", "sm_90a"), ("90", "sm_90a"), ("sm_80", "sm_80"),
     ("NVIDIA A100-SXM4-80GB", "sm_80"), ("NVIDIA H100 80GB HBM3", "sm_90a"),
     ("H200 NVL", "sm_90a"), ("a1000", "sm_86"), ("RTX A1000", "sm_86"), ("rtxa1000", "sm_86"),
     ("NVIDIA GeForce RTX 4060 Laptop GPU", "sm_89"), ("RTX 6000 Ada Generation", "sm_89"),
     ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "sm_120a")],
)  # fmt: skip
def test_gpus_by_their_names(name, arch):
    device = device_named(name)
    assert device["arch"] == arch
    if name in ("l4", "b200"):  # another GPU's peaks are not this one's
        assert device["peaks"] == []


@pytest.mark.parametrize(
    ("name", "near"),
    [("h2000", "h200"), ("a1001", "a100"), ("h1000", "h100"), ("rtx4091", "rtx4090")],
)
def test_nearly_a_name_is_no_gpu(name, near):
    with pytest.raises(UsageError, match=f"'{name}', expected .*; did you mean '{near}'"):
        device_named(name)


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "1 note not shown: --notes shows it"), (2, "2 notes not shown: --notes shows them")],
)
def test_notes_that_are_not_shown_are_counted(count, said, capsys):
    kernel = argparse.Namespace(notes=[{"severity": "note"}] * count, warnings=[])
    Printer(argparse.Namespace(notes=False))._print_notes(kernel)
    assert capsys.readouterr().out == f"  {said}\n"


def test_names_in_the_help_are_known():
    done = command("compile", "--help")
    shown = " ".join(done.stdout.split())
    for name in gpu_names.SHOWN.split(", "):
        assert name in shown and device_named(name)["arch"].startswith("sm_")


def test_what_takes_long_is_said_at_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(compiled_launches, "_LONG_SECONDS", 0.05)
    with compiled_launches.said_if_long("compiling 'k'"):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""  # of a pipe
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with compiled_launches.said_if_long("compiling 'k'"):
        pass
    time.sleep(0.2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with compiled_launches.said_if_long("compiling 'k'"):
        time.sleep(0.2)
    assert capsys.readouterr().err == "compiling 'k'\n"


TAKES_NO_BLOCK = """
import torch, triton, triton.language as tl
@triton.jit
def bad(x_ptr, y_ptr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(y_ptr + o, tl.load(x_ptr + o))
x = torch.zeros(100)
"""


def test_an_error_of_the_front_end_is_said_once(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(TAKES_NO_BLOCK + "bad[(1,)](x, x, BLOCK=100)\n")
    done = command("compile", path)
    assert done.returncode == 1
    message = "tl.arange"
    assert done.stdout.count("error:") >= 1 and message in done.stdout
    assert "Traceback" not in done.stderr and "error that is reported above" in done.stderr
    assert message not in done.stderr


def test_a_missing_argument_names_the_kernel(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(TAKES_NO_BLOCK + "bad[(1,)](x, BLOCK=128)\n")
    done = command("compile", path)
    assert "kernel 'bad': missing a required argument: 'y_ptr'" in done.stderr
    assert "inspect.py" not in done.stderr
