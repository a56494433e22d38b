"""What the compiler notes of a kernel's speed: each bad kernel, with its line, and its mended form,
which is silent."""

import inspect
import json
import textwrap

import blockscope
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope import knobs
from blockscope.cli.compile import shape
from blockscope.errors import OutOfResources
from blockscope.runtime.backends.cuda.notes import note_text, tell, warnings_in
from test_cli import command

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")

F16, F32 = torch.float16, torch.float32


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


def compiled(fn, *args, arch="sm_90a", **options):
    return fn.warmup(*args, grid=(1,), arch=arch, **options)


def notes(kernel, source):
    """(severity, code, what is in the line of the note) of each note, in order."""
    lines, first = inspect.getsourcelines(source.fn)
    return [(n["severity"], n["code"], lines[n["line"] - first].strip()) for n in kernel.notes]


# --- accesses of global memory --------------------------------------------------------------------


@blockscope.jit
def strided(x_ptr, out_ptr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets * STEP)
    tl.store(out_ptr + offsets, x)


def test_a_stride_between_threads_is_uncoalesced():
    x = torch.zeros(1 << 14)
    kernel = compiled(strided, x, x, STEP=8, BLOCK=512)
    assert notes(kernel, strided) == [
        ("warning", "uncoalesced", "x = tl.load(x_ptr + offsets * STEP)")
    ]
    (note,) = kernel.notes
    assert (note["variable"], note["found"], note["expected"]) == ("x", 128, 16)
    assert "'x_ptr'" in note["message"] and note["cost"] == "up to 8 times the memory traffic"
    assert compiled(strided, x, x, STEP=1, BLOCK=512).notes == []


@blockscope.jit
def copied(x_ptr, out_ptr, row_stride, column_stride, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * row_stride + columns * column_stride)
    tl.store(out_ptr + rows * N + columns, x)


@pytest.mark.parametrize("strides", [(64, 1), (1, 64), (1024, 1)])
def test_a_dimension_of_stride_one_is_coalesced(strides):
    x = torch.zeros(1 << 17)
    assert compiled(copied, x, x, *strides, M=64, N=64).notes == []


def test_a_stride_that_is_not_known_is_named():
    x = torch.zeros(1 << 17)
    (note,) = compiled(copied, x, x, 1024, 2, M=64, N=64).notes
    assert note["severity"] == "warning" and note["code"] == "uncoalesced"
    assert note["message"].startswith(
        "load of 'x_ptr' cannot be shown to be coalesced: along dimension 1 of its block [64, 64] "
        "elements lie apart by 'column_stride', known only when it runs"
    )


@blockscope.jit
def added(x_ptr, out_ptr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + offsets * STEP, tl.load(x_ptr + offsets))


def test_atomics_count_too():
    x = torch.zeros(1 << 14)
    line = "tl.atomic_add(out_ptr + offsets * STEP, tl.load(x_ptr + offsets))"
    assert notes(compiled(added, x, x, STEP=16, BLOCK=256), added) == [
        ("warning", "uncoalesced", line)
    ]
    assert compiled(added, x, x, STEP=1, BLOCK=256).notes == []


@blockscope.jit
def gathered(x_ptr, index_ptr, out_ptr, D: tl.constexpr, BLOCK: tl.constexpr):
    offsets, columns = tl.arange(0, BLOCK), tl.arange(0, D)
    index = tl.load(index_ptr + offsets)
    if D == 1:
        tl.store(out_ptr + offsets, tl.load(x_ptr + index))
    else:
        x = tl.load(x_ptr + index[:, None] * D + columns[None, :])
        tl.store(out_ptr + offsets[:, None] * D + columns[None, :], x)


def test_a_gather_is_only_a_note():
    x, index = torch.zeros(1 << 14), torch.zeros(512, dtype=torch.int32)
    assert notes(compiled(gathered, x, index, x, D=1, BLOCK=512), gathered) == [
        ("note", "gather", "tl.store(out_ptr + offsets, tl.load(x_ptr + index))")
    ]
    # Whole rows are coalesced wherever they begin.
    assert compiled(gathered, x, index, x, D=64, BLOCK=64).notes == []


@blockscope.jit
def masked(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def test_narrow_pieces_say_which_argument():
    x, y = torch.zeros(4096, dtype=F16), torch.zeros(4097, dtype=F16)[1:]
    (note,) = warnings_in(compiled(masked, x, x, 1001, BLOCK=1024).notes)
    assert note["message"] == (
        "load of 'x_ptr' goes by pieces of 2 bytes, expected 16 bytes: 'n' is not known to be a "
        "multiple of 16"
    )
    assert len(note["also"]) == 1  # the store, of which the same holds
    (note,) = warnings_in(compiled(masked, x, y, 1008, BLOCK=1024).notes)
    assert note["message"] == (
        "store to 'out_ptr' goes by pieces of 2 bytes, expected 16 bytes: 'out_ptr' is not known "
        "to begin at a multiple of 16 bytes"
    )
    assert compiled(masked, x, x, 1008, BLOCK=1024).notes == []
    # Pieces of 4 bytes are whole sectors for a warp.
    (note,) = compiled(masked, x.float(), x.float(), 1001, BLOCK=1024).notes
    assert note["severity"] == "note" and note["code"] == "narrow-access"


# --- dots -----------------------------------------------------------------------------------------


@blockscope.jit
def dot_kernel(
    a_ptr, b_ptr, out_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    PRECISION: tl.constexpr = None, WRITES: tl.constexpr = None,
):  # fmt: skip
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    out = out_ptr + rows[:, None] * N + columns[None, :]
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        a = tl.load(a_ptr + rows[:, None] * k + (start + steps)[None, :])
        b = tl.load(b_ptr + (start + steps)[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total, input_precision=PRECISION)
        if WRITES == "out":
            tl.store(out, total)
        if WRITES == "a":
            tl.store(a_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16))
        if WRITES == "atomic":
            total += tl.atomic_add(out, total)
    tl.store(out, total)


DOT = "total = tl.dot(a, b, total, input_precision=PRECISION)"


def of_dot(dtype=F16, size=(64, 64, 64), arch="sm_90a", options=None, **constants):
    a, out = torch.zeros(1 << 16, dtype=dtype), torch.zeros(1 << 16)
    m, n, k = size
    kernel = compiled(
        dot_kernel, a, a, out, 256, M=m, N=n, K=k, arch=arch, **constants, **(options or {})
    )
    return kernel, notes(kernel, dot_kernel)


def test_a_good_dot_is_silent():
    for arch in ("sm_80", "sm_90a"):
        assert of_dot(arch=arch)[1] == []
    assert of_dot(size=(128, 128, 64), options={"num_warps": 8})[1] == []


def test_why_a_dot_is_no_wgmma():
    kernel, found = of_dot(options={"num_warps": 2})
    assert found == [("warning", "no-wgmma", DOT)]
    assert kernel.notes[0]["message"].endswith("num_warps is 2, wgmma takes groups of 4 warps")
    kernel, found = of_dot(size=(16, 64, 64))
    assert found == [("note", "no-wgmma", DOT)]
    assert kernel.notes[0]["message"].endswith("M is 16, wgmma takes at least 64")
    assert of_dot(arch="sm_80", options={"num_warps": 2})[1] == []


def test_a_dot_without_tensor_memory_is_noted_where_the_target_has_it():
    kernel, found = of_dot(arch="sm_100a")
    assert found == [("note", "no-tcgen05", DOT)]
    assert kernel.notes[0]["message"] == "the dot goes by mma.sync: tcgen05 is not used yet"
    assert of_dot(arch="sm_120a")[1] == []


def test_a_dot_that_reads_its_operand_across_banks():
    kernel, found = of_dot(
        F32, PRECISION="tf32", size=(64, 128, 64), arch="sm_80", options={"num_stages": 1}
    )
    assert found[1:] == [("warning", "bank-conflict", DOT)]
    assert "bank conflicts where a block is read from shared memory" in kernel.notes[1]["message"]
    assert "along K" in kernel.notes[1]["hint"]
    kernel, found = of_dot(F32, PRECISION="tf32", size=(64, 64, 32), arch="sm_80")
    assert found == []  # copies lie as it reads them
    kernel, found = of_dot(F16, size=(64, 64, 32), arch="sm_80")  # ldmatrix.trans
    assert found == []


def test_why_a_dot_uses_no_tensor_cores():
    kernel, found = of_dot(F32, PRECISION="ieee", size=(64, 64, 32))
    assert found == [("warning", "no-tensor-cores", DOT)]
    assert kernel.notes[0]["message"].endswith(
        "fp32 in input_precision 'ieee' has more digits than they keep"
    )


def test_why_a_loop_waits_for_its_loads():
    load = "a = tl.load(a_ptr + rows[:, None] * k + (start + steps)[None, :])"
    first = dot_kernel.fn.__code__.co_firstlineno
    for writes, line, also in (("a", first + 15, []), ("atomic", first + 17, [first + 10])):
        kernel, found = of_dot(WRITES=writes)
        (note,) = [note for note in kernel.notes if note["code"] == "not-pipelined"]
        assert ("warning", "not-pipelined", load) in found
        assert f"line {line} of the loop writes to global memory" in note["message"]
        assert [other["line"] for other in note["also"]] == also
    # What is stored to another argument is none of a load's business, unless that is all one.
    kernel, found = of_dot(WRITES="out")
    assert "not-pipelined" not in [code for _, code, _ in found]
    (note,) = [n for n in kernel.careful().notes if n["code"] == "not-pipelined"]
    assert f"line {first + 13} of the loop" in note["message"]
    kernel, found = of_dot(options={"num_stages": 1})
    assert [code for _, code, _ in found] == ["not-pipelined"]
    assert kernel.notes[0]["severity"] == "note"


@blockscope.jit
def padded_dot(a_ptr, b_ptr, out_ptr, k, SIZE: tl.constexpr, PADDING: tl.constexpr):
    a = tl.make_tensor_descriptor(
        a_ptr, [SIZE, k], [k, 1], [SIZE, SIZE], padding_option=PADDING
    )  # fmt: skip
    b = tl.make_tensor_descriptor(
        b_ptr, [k, SIZE], [SIZE, 1], [SIZE, SIZE], padding_option=PADDING
    )  # fmt: skip
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for start in range(0, k, SIZE):
        total = tl.dot(a.load([0, start]), b.load([start, 0]), total)
    columns = tl.arange(0, SIZE)
    tl.store(out_ptr + columns[:, None] * SIZE + columns[None, :], total)


def test_padding_that_keeps_a_loop_waiting_is_named():
    a, out = torch.zeros(1 << 16, dtype=F16), torch.zeros(1 << 16)
    kernel = compiled(padded_dot, a, a, out, 256, SIZE=64, PADDING="nan")
    (note,) = [n for n in kernel.notes if n["code"] == "not-pipelined"]
    assert (
        "'other' (of a descriptor or block pointer, its padding_option) is not zero"
        in (note["message"])
    )
    assert note["hint"].startswith('other=0.0 or padding_option="zero", and tl.where')
    kernel = compiled(padded_dot, a, a, out, 256, SIZE=64, PADDING="zero")
    assert "not-pipelined" not in [n["code"] for n in kernel.notes]


FEW_REGISTERS = "--override-directive-values --maxrregcount=32"


def test_spills_say_what_limits_the_registers():
    kernel, found = of_dot(arch="sm_80", options={"maxnreg": 32})
    (note,) = [n for n in kernel.notes if n["code"] == "spills"]
    assert note["message"] == (
        f"{note['found']} bytes of each thread are stored to memory and loaded again: ptxas gave "
        "it 32 registers, of at most 32 by maxnreg"
    )
    assert note["hint"] == "a larger maxnreg than 32"
    kernel, found = of_dot(arch="sm_80", options={"ptx_options": FEW_REGISTERS})
    (note,) = [n for n in kernel.notes if n["code"] == "spills"]
    assert note["message"].endswith("ptxas gave it 32 registers, of at most 255")
    assert note["hint"].startswith("maxnreg=255, or ptx_options without a limit")


def test_fewer_buffers_than_stages_are_noted():
    size = (128, 128, 128)
    kernel, _ = of_dot(arch="sm_80", size=size, options={"num_stages": 5})
    (note,) = [n for n in kernel.notes if n["code"] == "fewer-buffers"]
    assert note["severity"] == "note" and note["expected"] == 5 and note["found"] < 5
    assert note["message"].startswith(
        f"num_stages is 5, but the loop has {note['found']} buffers: with 5 the kernel would take "
    )
    asked = kernel.metadata.shared + (5 - note["found"]) * 2 * 2 * 128 * 128
    assert f" {asked} bytes of shared memory, and a CTA of sm_80 has 166912" in note["message"]
    assert shape(kernel).endswith(f"5 stages ({note['found']} buffers)")
    kernel, _ = of_dot(arch="sm_80", size=size, options={"num_stages": note["found"]})
    assert "fewer-buffers" not in [n["code"] for n in kernel.notes]


def test_fp8_of_a_gpu_without_it_is_noted():
    def codes(arch, dtype):
        kernel, _ = of_dot(arch=arch, dtype=dtype)
        return [n["code"] for n in kernel.notes]

    for arch in ("sm_80", "sm_86"):
        assert codes(arch, torch.float8_e4m3fn).count("emulated-fp8") == 1
    assert "emulated-fp8" not in codes("sm_89", torch.float8_e4m3fn)
    assert "emulated-fp8" not in codes("sm_80", F16)


@pytest.mark.parametrize(
    ("warps", "hint"),
    [
        (4, "num_warps=8, so that each thread holds half as much"),
        # 8 warps of 255 registers: 16 would have 128 each.
        (8, "smaller blocks: 8 warps already have all registers of a multiprocessor"),
        (16, "fewer warps (num_warps)"),
    ],
)
def test_spills_advise_no_more_warps_than_there_are_registers_for(warps, hint):
    kernel = compiled(
        long_rows, tl.float32, tl.float32, 5, 32768, BLOCK=8192 * warps, num_warps=warps
    )
    (note,) = [n for n in kernel.notes if n["code"] == "spills"]
    assert note["hint"].startswith(hint)


@blockscope.jit
def long_rows(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * cols + columns, mask=columns < cols, other=-float("inf"))
        weights = tl.exp(x - tl.max(x, axis=0))
        weights /= tl.sum(weights, axis=0)
        tl.store(out_ptr + row * cols + columns, weights, mask=columns < cols)


def test_a_kernel_that_spills_has_all_registers():
    """With the 32 registers that ptxas once gave this one, it spilled ten times as much."""
    kernel = compiled(long_rows, tl.float32, tl.float32, 5, 32768, BLOCK=32768)
    (note,) = [n for n in kernel.notes if n["code"] == "spills"]
    assert kernel.n_regs > 200 and note["found"] < 4000
    assert note["hint"].startswith("num_warps=8")


def test_spills_and_what_ptxas_runs_one_by_one():
    kernel, found = of_dot(size=(256, 256, 64))
    assert found[0][:2] == ("warning", "spills") and found[0][2] == "@blockscope.jit"
    assert kernel.notes[0]["found"] == kernel.n_spills * 4 > 0
    assert kernel.notes[0]["hint"].startswith("num_warps=8")
    assert found[1] == ("warning", "serialized-wgmma", DOT)


@blockscope.jit
def turned(x_ptr, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.store(x_ptr + index, tl.load(x_ptr + BLOCK - 1 - index))


def test_programs_that_several_ctas_cannot_run_together():
    x = torch.zeros(1 << 14)
    several = compiled(turned, x, BLOCK=512, num_ctas=2)
    line = "tl.store(x_ptr + index, tl.load(x_ptr + BLOCK - 1 - index))"
    assert notes(several, turned) == [("warning", "no-cluster", line)]
    assert [place["column"] for place in several.notes[0]["also"]] == [29]  # the load
    assert several.notes[0]["message"] == (
        "num_ctas is 2, but the program runs as one CTA, of 4 warps: "
        "it may load what another CTA of its program stores"
    )
    one = compiled(turned, x, BLOCK=512)
    assert several.asm["ptx"] == one.asm["ptx"] and several.metadata.num_ctas == 1
    assert one.notes == []
    several = compiled(strided, x, x, STEP=1, BLOCK=512, num_ctas=2)
    assert several.notes == [] and several.metadata.num_ctas == 2
    several = compiled(strided, x, x, STEP=1, BLOCK=512, num_ctas=2, arch="sm_80")
    assert several.notes[0]["message"].endswith("of 4 warps: sm_80 has no clusters")


# --- where notes are shown ------------------------------------------------------------------------

SCRIPT = """
import torch, triton, triton.language as tl

@triton.jit
def read(pointer, offsets):
    return tl.load(pointer + offsets)

@triton.jit
def kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = read(x_ptr, offsets * stride)
    tl.store(out_ptr + offsets, x)

kernel[(1,)](torch.zeros(4096), torch.zeros(512), {stride}, BLOCK=512)
"""


@pytest.fixture
def script(tmp_path):
    def write(stride):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(SCRIPT.format(stride=stride)))
        return path

    return write


def test_compile_prints_warnings_with_the_calls_that_lead_there(script):
    path = script(7)
    done = command("compile", path)
    assert done.returncode == 0, done.stderr
    heading, rest = done.stdout.split("\n", 1)
    assert heading.startswith("kernel(pointer<fp32>:16, pointer<fp32>:16, int32, BLOCK=512) at ")
    assert rest == (
        f"{path}:6:12: warning[uncoalesced]: load of 'x_ptr' cannot be shown to be coalesced: "
        "along dimension 0 of its block [512] elements lie apart by 'stride', known only when it "
        "runs; a warp may touch 128 sectors of 32 bytes, expected 16 for 512 bytes\n"
        "  6 |     return tl.load(pointer + offsets)\n"
        "    |            ^\n"
        f"  called from: {path}:11:9 in kernel\n"
        "  cost: up to 8 times the memory traffic\n"
        "  hint: make the tensor contiguous along this dimension (a stride of 1 is compiled in), "
        "let another dimension be the contiguous one, or make 'stride' a tl.constexpr\n"
    )
    assert "warning[" not in command("compile", "--notes", script(1)).stdout


def test_compile_prints_json(script):
    done = command("compile", "--json", script(7))
    (kernel,) = json.loads(done.stdout)
    assert kernel["kernel"] == "kernel" and kernel["target"] == "sm_90a" and kernel["error"] is None
    (note,) = kernel["notes"]
    assert (note["code"], note["line"], note["called_from"][0]["line"]) == ("uncoalesced", 6, 11)
    assert (kernel["num_warps"], kernel["num_stages"], kernel["maxnreg"]) == (4, 3, None)
    done = command("compile", "--json", "--time", script(7))
    assert done.returncode == 2 and "--json" in done.stderr


def test_json_is_alone_on_stdout(script):
    path = script(1)
    text = path.read_text()
    noise = (
        "import atexit, os\natexit.register(print, 'at the end')\nos.system('echo of a child')\n"
    )
    path.write_text(noise + text + "\nprint('of the script')\n")
    done = command("compile", "--json", path)
    assert done.returncode == 0 and len(json.loads(done.stdout)) == 1
    for words in ("at the end", "of a child", "of the script"):
        assert words in done.stderr
    path.write_text(text + "\nraise ValueError('of the script')\n")
    done = command("compile", "--json", path)
    assert done.returncode == 1 and len(json.loads(done.stdout)) == 1
    assert "Traceback" in done.stderr and "ValueError: of the script" in done.stderr


def test_launches_tell_their_warnings_when_asked(monkeypatch, capfd):
    x = torch.zeros(1 << 14)
    with knobs.gpu.scope():
        knobs.gpu.warnings = True
        compiled(strided, x, x, STEP=16, BLOCK=512)
        compiled(strided, x, x, STEP=16, BLOCK=512)
    said = capfd.readouterr().err
    assert said.startswith("kernel 'strided':\n") and said.count("warning[uncoalesced]") == 1
    tell("quiet", [])
    assert capfd.readouterr().err == ""


def test_a_note_without_a_source_file_is_text_too():
    note = {
        "file": "gone.py", "line": 3, "column": 1, "severity": "note", "code": "gather",
        "message": "m", "cost": "", "hint": "h", "called_from": [], "also": [],
    }  # fmt: skip
    assert note_text(note) == "gone.py:3:1: note[gather]: m\n  hint: h"


# --- what does not fit ----------------------------------------------------------------------------

HUGE = """
import torch, triton, triton.language as tl

@triton.jit
def huge(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, 128), tl.arange(0, BLOCK)
    total = tl.zeros((128, 128), tl.float32)
    for start in range(0, n, BLOCK):
        a = tl.load(x_ptr + rows[:, None] * n + start + columns[None, :])
        total = tl.dot(a, a.T, total)
    tl.store(out_ptr + rows[:, None] * 128 + rows[None, :], total)

huge[(1,)](torch.zeros(128, 512).half(), torch.zeros(128, 128), 512, BLOCK={block})
"""


def test_compile_says_what_does_not_fit_its_target(tmp_path):
    path = tmp_path / "huge.py"
    path.write_text(HUGE.format(block=512))
    done = command("compile", "--target", "sm_86,sm_90", path)
    assert done.returncode == 1, done.stdout
    first, second = (line for line in done.stdout.splitlines() if line.startswith("huge("))
    error = "out of resource: shared memory, required: 262144, hardware limit: 101376"
    assert f"for sm_86, 4 warps: error: {error}" in first and "error" not in second
    # No loop of it is pipelined, so fewer stages are no help.
    assert "  hint: smaller blocks need less\n" in done.stdout


def test_errors_name_the_option_that_helps():
    assert str(OutOfResources(300, 200, "shared memory")).endswith(
        "hint: smaller blocks or fewer stages (num_stages) need less"
    )
    assert "num_warps" in str(OutOfResources(2, 1, "registers"))
    assert "num_warps" in str(OutOfResources(2, 1, "threads of one CTA"))
