"""Launches as files: what is recorded runs again elsewhere, with the same findings and values."""

import collections
import contextlib
import enum
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
import tracemalloc
import types
import zipfile
from pathlib import Path

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest
from blockscope.cli import verify
from blockscope.cli.launch_script import LaunchScript
from blockscope.cli.verify import Verifier
from blockscope.errors import CompilationError, LaunchFileError
from blockscope.launch_file import memory
from blockscope.launch_file.container import Writer
from blockscope.launch_file.contents import File
from blockscope.launch_file.recorder import Recorder
from blockscope.launch_file.replay import Replay
from blockscope.runtime.tensor_descriptor import TensorDescriptor
from kernel_runner import checks_of, comparable

torch = pytest.importorskip("torch")
KERNELS = Path(__file__).parents[1] / "kernels"
#: One of each kind of memory, code and check.
SAMPLE = [
    "forgotten_mask_load", "nested_call", "pointer_table_bad_entry", "pointer_table_past_end",
    "read_only_output", "resized_to_zero", "row_stride_of_slice", "undefined_scratch",
    "undefined_mask", "lock_of_launch_before", "relaxed_hand_off", "device_assert_index",
    "autotune_second_config", "hole_between_blocks", "wrap_of_row_offsets", "nan_padding",
    "precision_variance", "gather_outside", "misaligned_cast", "byte_overlap", "grid_limit",
]  # fmt: skip


@pytest.fixture
def record(tmp_path):
    """record(function) -> the file of the launches that the function makes."""
    files = []

    def recorded(launches, *, expect_refused=0, **options):
        said = []
        path = tmp_path / f"run{len(files)}.blk"
        writer = Writer(str(path))
        recorder = Recorder(writer, say=said.append, **options)
        with recorder.recording():
            launches()
        assert recorder.refused == expect_refused, said
        recorded.said = said
        writer.close(recorder.head())
        files.append(File(str(path)))
        return files[-1]

    yield recorded
    for each in files:
        each.close()


def replayed(file):
    """The tensors of each launch of a file, after it ran."""
    found = []

    def go(kernel, grid, args, kwargs):
        kernel[grid](*args, **kwargs)
        found.append([*args, *kwargs.values()])

    with Replay(file) as replay:
        for launch in file.launches:
            replay.run(launch, go)
    return found


def command(*words, cwd=None, stdin="", script=False):
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, "-m", "blockscope", *map(str, words)],
        capture_output=True, text=True, cwd=cwd, input=stdin, timeout=240, env=environment,
    )  # fmt: skip


# --- findings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLE)
def test_a_bad_kernel_has_the_same_report_where_its_file_is_gone(name, tmp_path, record):
    path = tmp_path / f"{name}_bad.py"
    shutil.copy(KERNELS / path.name, path)
    torch.manual_seed(0)

    def launches():
        try:
            runpy.run_path(str(path), run_name="__main__")
        except (triton.TritonError, ValueError):
            pass  # what is wrong stops the script: nothing checks it

    triton.install_as_triton()
    file = record(launches)
    path.unlink()
    with Replay(file) as replay, triton.check(checks_of(KERNELS / path.name)) as report:
        for launch in file.launches:
            replay.run(launch)
        text = comparable(report.text(), path) + "\n"
    assert text == (KERNELS / f"{name}_bad.txt").read_text()


def test_the_commands_run_a_launch_file_from_another_folder(tmp_path):
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir(), away.mkdir()
    shutil.copy(KERNELS / "nested_call_bad.py", home / "script.py")
    told = command("check", "--checks", "asan", "script.py", cwd=home)
    assert told.returncode == 66
    done = command("record", "script.py", "-o", away / "run.blk", cwd=home)
    assert "wrote 1 launch of 1 kernel to" in done.stderr
    (home / "script.py").write_text("changed = 1\n" * 40)
    again = command("check", "run.blk", "--checks", "asan", cwd=away)
    assert (again.returncode, again.stderr) == (66, told.stderr)
    stepped = command("step", "run.blk", cwd=away, stdin="l\np tl.program_id(0)\nq\n")
    assert "(Pdb)" in stepped.stdout and "-> " in stepped.stdout, stepped.stderr
    assert "int32[]" in stepped.stdout or "int32: " in stepped.stdout, stepped.stdout
    assert stepped.returncode == 0
    shown = command("launches", "run.blk", "--source", cwd=away)
    assert "launch 0 of" in shown.stdout and "@triton.jit" in shown.stdout
    traced = command("trace", "run.blk", "-o", "t.h5", "--checks", "none", cwd=away)
    assert "wrote 1 launch to t.h5" in traced.stderr
    assert "func.func" in command("ir", "run.blk", cwd=away).stdout


def test_bench_times_each_launch(tmp_path):
    command("record", KERNELS / "forgotten_mask_load_good.py", "-o", tmp_path / "run.blk")
    done = command("bench", "run.blk", "--seconds", "0.05", cwd=tmp_path)
    assert done.stdout.startswith("launch 0 of 'kernel', grid (4, 1, 1): "), done.stderr


def test_on_finding_keeps_the_launch_that_has_one_with_its_number(tmp_path):
    (tmp_path / "script.py").write_text(
        (KERNELS / "forgotten_mask_load_bad.py").read_text().replace(
            "kernel[(4,)](x, out, 1000, BLOCK=256)",
            "kernel[(3,)](x, out, 1000, BLOCK=256)\nkernel[(4,)](x, out, 1000, BLOCK=256)",
        )
    )  # fmt: skip
    done = command("record", "--on-finding", "script.py", cwd=tmp_path)
    assert "wrote 1 launch of 1 kernel to run.blk" in done.stderr
    told = command("check", "run.blk", cwd=tmp_path)
    assert "launch: number 1 with" in told.stderr
    assert "error[oob-load]" in told.stderr


def test_a_finding_about_tuning_is_said_to_be_of_the_script(tmp_path):
    script = KERNELS / "update_while_tuning_bad.py"
    words = "record", "--on-finding", "--checks", "outputs", "-o", "run.blk"
    done = command(*words, script, cwd=tmp_path)
    said = "'not-idempotent' is about tuning, which a launch file does not hold: check the script"
    assert "error[not-idempotent]" in done.stderr and said in done.stderr
    assert "no launch by itself had a finding: run.blk was not written" in done.stderr
    command("record", "-o", "run.blk", script, cwd=tmp_path)
    assert "launch 0 of" in command("launches", "run.blk", cwd=tmp_path).stdout
    done = command("reduce", "--checks", "all", "run.blk", cwd=tmp_path)
    assert done.returncode == 2 and "about tuning" in done.stderr and "others" not in done.stderr
    done = command("reduce", "--finding", "not-idempotent", "run.blk", cwd=tmp_path)
    assert done.returncode == 2 and "about tuning" in done.stderr, done.stderr


def test_each_configuration_with_a_finding_is_recorded_once(tmp_path):
    text = (KERNELS / "update_while_tuning_bad.py").read_text()
    text = text.replace(", mask=i < n, other=0", "").replace(", mask=i < n", "")
    (tmp_path / "script.py").write_text(text.replace("(256)", "(200)"))
    command("record", "--on-finding", "--checks", "asan,outputs", "script.py", cwd=tmp_path)
    shown = command("launches", "run.blk", cwd=tmp_path).stdout
    assert [line for line in shown.splitlines() if line.startswith("launch ")] == [
        "launch 0 of 'kernel' at script.py:9, grid (4, 1, 1)"
    ]  # fmt: skip


def test_a_recorded_script_may_import_torch_under_any_check(tmp_path):
    """The recorder and the check `undefined` both wait for that import."""
    pytest.importorskip("torch")
    bad = (KERNELS / "forgotten_mask_load_bad.py").read_text()
    (tmp_path / "script.py").write_text("import torch\n" + bad)
    done = command("record", "--on-finding", "--checks", "all", "script.py", cwd=tmp_path)
    assert "wrote 1 launch of 1 kernel to run.blk" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "missing.blk"], "there is no file 'missing.blk'"),
        (["check", "--launch", "7000000", "run.blk"], "has no launch 7000000, its launches are "),
        (["check", "run.blk", "--wrong"], "unknown option '--wrong'"),
        (["check", "--launch", "0", "script.py"], "--launch is for launch files"),
        (["record", "run.blk", "-o", "x.blk"], "is a launch file already, expected a script"),
        (["check", "text.blk"], "is no launch file"),
    ],
)
def test_wrong_use_is_one_sentence(words, said, tmp_path, record):
    file = record(lambda: add_one[(1,)](np.zeros(4, np.float32), BLOCK=4))
    shutil.copy(file.path, tmp_path / "run.blk")
    (tmp_path / "script.py").write_text("pass\n")
    (tmp_path / "text.blk").write_text("no zip\n")
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr and "Traceback" not in done.stderr


def test_launches_of_a_file_are_verified_as_those_of_a_script(record, capsys):
    x, out = torch.arange(8.0), torch.zeros(8)
    file = record(lambda: copy[(1,)](x, out, BLOCK=8))
    verifier = Verifier("cpu")  # another device is a GPU, elsewhere
    script = LaunchScript(file.path, None)
    with verifier.watching():
        assert script.run() == 0
    script.replay.close()
    assert verifier.summary() == "verify: 1 launches, 0 with differences", capsys.readouterr().err


def test_reports_of_verify_have_the_numbers_of_the_file(record, monkeypatch, capsys):
    monkeypatch.setattr(verify, "differences", lambda *_: ["'out' differs"])

    def launches():
        for _ in range(2):
            copy[(1,)](torch.zeros(8), torch.zeros(8), BLOCK=8)

    triton._core.number_next_launch(5)
    with Verifier("cpu").watching():
        launches()
    assert [line.split(" of ")[0] for line in capsys.readouterr().err.splitlines()] == [
        "launch 5", "launch 6"
    ]  # fmt: skip
    triton._core.number_next_launch(5)
    assert [each.number for each in record(launches).launches] == [5, 6]


def test_a_launch_that_runs_elsewhere_takes_a_number(tmp_path):
    writer = Writer(str(tmp_path / "run.blk"))
    recorder = Recorder(writer)
    triton._core.number_next_launch(0)

    def elsewhere(run, fn, args, grid, kwargs, warmup):  # as on a GPU
        return run(fn, grid, args, kwargs, warmup=True) if warmup else None

    with recorder.recording(elsewhere):
        for _ in range(2):
            copy[(1,)](torch.zeros(8), torch.zeros(8), BLOCK=8)
    assert [row["number"] for row in recorder.head()["launches"]] == [0, 1]
    writer.give_up()


def test_launches_that_differ_are_kept(tmp_path, monkeypatch):
    differs = lambda launch, *runs: ["'out' differs"] if float(launch._args[0][0]) > 1 else []
    monkeypatch.setattr(verify, "differences", differs)
    verifier = Verifier("cpu")
    writer = Writer(str(tmp_path / "run.blk"))
    recorder = Recorder(writer, on_more=verifier.count)
    with recorder.recording(verifier.launch):
        for first in (1.0, 2.0, 1.5):
            copy[(1,)](torch.full((8,), first), torch.zeros(8), BLOCK=8)
    writer.close(recorder.head())
    assert verifier.summary() == "verify: 3 launches, 2 with differences" and recorder.recorded == 2
    file = File(str(tmp_path / "run.blk"))
    values = [float(tensors[1][0]) for tensors in replayed(file)]
    file.close()
    assert values == [2.0, 1.5]


def test_recording_what_differs_needs_a_gpu(tmp_path):
    (tmp_path / "script.py").write_text("pass\n")
    done = command("record", "--on-mismatch", "script.py", cwd=tmp_path)
    assert done.returncode == 2 and "there is none to use" in done.stderr, done.stderr
    assert done.stderr.startswith("blockscope: record --on-mismatch compares with a GPU")
    done = command("record", "--on-mismatch", "--on-finding", "script.py", cwd=tmp_path)
    assert done.returncode == 2 and "not allowed with" in done.stderr, done.stderr


def test_what_is_undefined_goes_along_bit_for_bit(record):
    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), 1)

    def launches():
        x = torch.empty(19, dtype=torch.uint8)
        kernel[(1,)](x, BLOCK=1)
        x[3:7] = 0
        kernel[(1,)](x, BLOCK=1)
        x.fill_(0)
        kernel[(1,)](x, BLOCK=1)

    file = record(launches)
    masks = [
        None if launch.memory[0].undefined is None else file.mask_of(launch.memory[0]).tolist()
        for launch in file.launches
    ]
    assert masks == [[True] * 19, [True] * 3 + [False] * 4 + [True] * 12, None]


class Written:
    """A session that notes which bytes it is told have values."""

    def __init__(self):
        self.allocated, self.written = [], []

    def host_allocation(self, *words):
        self.allocated.append(words)

    def host_write(self, elements):
        address, _, (count,), _, begin, _ = elements
        self.written.append((address - begin, address - begin + count))


@pytest.mark.parametrize("part", [8, 1 << 22])
def test_a_check_is_told_what_is_undefined(record, monkeypatch, part):
    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + 20 + tl.arange(0, BLOCK), 1)

    def launches():
        x = torch.empty(37, dtype=torch.uint8)
        x[3:7] = 0
        x[14:18] = 0
        x[36] = 0
        kernel[(1,)](x, BLOCK=2)
        x[7:14] = 0
        kernel[(1,)](x, BLOCK=2)
        x.fill_(0)
        kernel[(1,)](x, BLOCK=2)

    monkeypatch.setattr(memory, "_PART", part)
    file = record(launches)
    told = []
    blocks = memory.Memory(file)
    for launch in file.launches:
        blocks.prepare(launch)
        session = Written()
        blocks.tell(session, launch, follows=True)
        told.append((len(session.allocated), session.written))
    assert told[0] == (1, [(3, 7), (14, 18), (36, 37)])
    made = {at for begin, end in told[1][1] for at in range(begin, end)}
    assert told[1][0] == 0 and made >= set(range(7, 14)) and made.isdisjoint(range(22, 36))
    assert told[2] == (0, [(0, 37)])


def test_undefined_memory_without_values(tmp_path):
    (tmp_path / "script.py").write_text(
        "import torch, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def kernel(x_ptr, BLOCK: tl.constexpr):\n"
        "    tl.store(x_ptr + tl.arange(0, BLOCK), 1)\n"
        "x = torch.empty(40)\n"
        "for _ in range(2): kernel[(1,)](x, BLOCK=8)\n"
    )
    command("record", "--no-values", "script.py", cwd=tmp_path)
    done = command("check", "--checks", "undefined", "run.blk", cwd=tmp_path)
    assert done.returncode == 0 and "TypeError" not in done.stderr, done.stderr


def test_masks_of_large_blocks_take_little_memory():
    tracemalloc.start()
    try:
        size = 1 << 26
        assert memory._runs(size, lambda begin, end: np.ones(end - begin, bool)) == [(0, size)]
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


# --- arguments ----------------------------------------------------------------------------------


@triton.jit
def add_one(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float16", "float64", "float8_e4m3fn", "float8_e5m2", "bool", "int64"]
)
def test_tensors_of_torch_come_back_bit_for_bit(dtype, record):
    x = torch.arange(16).to(getattr(torch, dtype))
    out = torch.zeros_like(x)
    (found,) = replayed(record(lambda: copy[(1,)](x, out, BLOCK=16)))
    assert type(found[1]) is torch.Tensor and found[1].dtype is x.dtype
    assert torch.equal(found[1].view(torch.uint8), x.view(torch.uint8))


def test_arrays_come_back_as_arrays_with_ml_dtypes_too(record):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(16).astype(ml_dtypes.bfloat16)
    out = np.zeros(16, np.float32)
    (found,) = replayed(record(lambda: copy[(1,)](x, out, BLOCK=16)))
    assert found[0].dtype == x.dtype and isinstance(found[1], np.ndarray)
    assert np.array_equal(found[1], np.arange(16, dtype=np.float32))


def test_views_of_one_storage_stay_views_of_it(record):
    whole = torch.zeros(32)
    even, odd = whole[::2], whole[1::2]
    even += 1
    (found,) = replayed(record(lambda: copy[(1,)](whole, odd, BLOCK=16)))
    assert found[0].data_ptr() + 4 == found[1].data_ptr() and found[1].stride() == (2,)
    assert found[0].untyped_storage().data_ptr() == found[1].untyped_storage().data_ptr()


@triton.jit
def of_pair(pair, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(pair.data + i, mask=i < pair.size, other=-1.0))


def test_named_tuples_and_plain_ones_are_recorded(record):
    x, out = torch.arange(8.0), torch.zeros(8)
    named = collections.namedtuple("Named", ["data", "size"])(x, 5)
    (found,) = replayed(record(lambda: of_pair[(1,)](named, out, BLOCK=8)))
    assert found[1].tolist() == [0, 1, 2, 3, 4, -1, -1, -1]


@triton.jit
def not_compiled(x_ptr):
    tl.store(x_ptr, nothing)  # noqa: F821


def test_launches_that_fail_to_compile_have_numbers_of_their_own(record):
    def script():
        with contextlib.suppress(CompilationError):
            not_compiled[(1,)](torch.zeros(8))
        copy[(1,)](torch.arange(8.0), torch.zeros(8), BLOCK=8)

    first, second = record(script).launches
    assert first.kernel_name == "not_compiled" and second.kernel_name == "copy"
    assert second.number == first.number + 1


@triton.jit
def of_descriptor(descriptor, out_ptr):
    block = descriptor.load([0, 4])
    i = tl.arange(0, 4)
    tl.store(out_ptr + i[:, None] * 4 + i[None, :], block)


def test_descriptors_are_recorded(record):
    x, out = torch.arange(32.0).reshape(4, 8), torch.zeros(4, 4)
    made = TensorDescriptor.from_tensor(x, [4, 4])
    (found,) = replayed(record(lambda: of_descriptor[(1,)](made, out)))
    assert torch.equal(found[1], x[:, 4:])


def test_reinterpreted_and_duck_typed_tensors_are_recorded(record):
    class Duck:
        def __init__(self, array):
            self.array, self.dtype, self.shape = array, "bfloat16", array.shape

        def data_ptr(self):
            return self.array.ctypes.data

        def stride(self):
            return (1,)

        def element_size(self):
            return 2

    bits = np.full(8, 0x3F80, np.uint16)
    out = torch.zeros(8)
    (found,) = replayed(record(lambda: copy[(1,)](Duck(bits), out, BLOCK=8)))
    assert found[1].tolist() == [1.0] * 8
    raw = torch.full((8,), 0x38, dtype=torch.uint8)
    fp8 = triton.reinterpret(raw, tl.float8e4nv)
    (found,) = replayed(record(lambda: copy[(1,)](fp8, out, BLOCK=8)))
    assert found[1].tolist() == [1.0] * 8


def test_an_argument_that_cannot_be_kept_is_named_and_the_script_goes_on(record):
    class Config:
        block = 4

    @triton.jit
    def kernel(x_ptr, CONFIG: tl.constexpr):
        tl.store(x_ptr, CONFIG.block)

    x = np.zeros(1, np.float32)

    def launches():
        kernel[(1,)](x, CONFIG=Config())
        add_one[(1,)](x, BLOCK=1)

    file = record(launches, expect_refused=1)
    assert [launch.kernel_name for launch in file.launches] == ["add_one"]
    assert "a launch of 'kernel' is not recorded: argument 'CONFIG' is a " in record.said[0]
    assert x[0] == 5


# --- code ---------------------------------------------------------------------------------------


class Kind(enum.IntEnum):
    PLAIN = 1
    DOUBLE = 2


PROJECT = """
import blockscope as triton, blockscope.language as tl
from . import more

SCALE = tl.constexpr(3)
annotated: tl.constexpr = 4

@triton.jit
def helper(x, times: tl.constexpr = SCALE):
    return more.inner(x * times) + annotated

@triton.constexpr_function
def twice(n):
    return factor() * n

def factor():
    return 2
"""


def test_what_a_kernel_calls_and_reads_is_taken_along(tmp_path, record, monkeypatch):
    package = tmp_path / "their_project"
    package.mkdir()
    (package / "__init__.py").write_text(PROJECT)
    (package / "more.py").write_text(
        "import blockscope as triton\n\n@triton.jit\ndef inner(x):\n    return x + 100\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import their_project as project

    offset, kind = 7, Kind.DOUBLE

    @triton.jit
    def kernel(out_ptr, F: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        x = project.helper(i) + project.twice(5) + offset
        if kind == Kind.DOUBLE:
            x = F(x)
        tl.store(out_ptr + i, x)

    out = np.zeros(4, np.int32)
    file = record(lambda: kernel[(1,)](out, F=negate, BLOCK=4))
    expected = out.copy()
    assert expected[1] == -(1 * 3 + 100 + 4 + 10 + 7)
    shutil.rmtree(package)
    for name in [name for name in sys.modules if name.startswith("their_project")]:
        monkeypatch.delitem(sys.modules, name)
    (found,) = replayed(file)
    assert np.array_equal(found[0], expected)
    assert importlib.util.find_spec("their_project") is None


@triton.jit
def negate(x):
    return -x


@triton.aggregate
class Span:
    begin: tl.tensor
    size: tl.constexpr

    def __init__(self, begin, size):
        self.begin = begin
        self.size = size

    @triton.jit
    def offsets(self):
        return self.begin + tl.arange(0, self.size)


@triton.jit
def of_aggregate(out_ptr, begin, BLOCK: tl.constexpr):
    span = Span(begin, tl.constexpr(BLOCK))
    tl.store(out_ptr + span.offsets(), 1)


def test_aggregates_in_kernels_are_taken_along(record):
    out = np.zeros(8, np.int32)
    (found,) = replayed(record(lambda: of_aggregate[(1,)](out, 2, BLOCK=4)))
    assert found[0].tolist() == [0, 0, 1, 1, 1, 1, 0, 0]


def test_both_cpu_modes_record_and_run(record, monkeypatch):
    x = np.zeros(4, np.float32)
    triton.set_interpret_mode(True)
    try:
        file = record(lambda: add_one[(1,)](x, BLOCK=4))
    finally:
        triton.set_interpret_mode(False)
    assert file.launches[0].is_stepped and "func.func" in file.ir_of(file.launches[0])
    (found,) = replayed(file)
    assert found[0].tolist() == [1.0] * 4


# --- what is kept -------------------------------------------------------------------------------


def test_the_same_bytes_are_kept_once(record):
    x = torch.rand(1 << 18)
    outs = [torch.empty(4) for _ in range(3)]
    file = record(lambda: [copy[(1,)](x, out, BLOCK=4) for out in outs])
    assert len(file.launches) == 3
    assert os.path.getsize(file.path) < 1.2 * (4 << 18)


def test_values_that_are_secret_stay_so(record):
    secret = torch.full((64,), 1234.5678)
    secret[7] = 0.5
    file = record(
        lambda: copy[(1,)](secret, torch.zeros(64, dtype=torch.int32), BLOCK=64), keeps_values=False
    )
    data = b"".join(
        zipfile.ZipFile(file.path).read(n) for n in zipfile.ZipFile(file.path).namelist()
    )
    assert secret.numpy().tobytes()[:8] not in data
    (found,) = replayed(file)
    assert found[0].shape == (64,) and 0.5 <= float(found[0].min()) < float(found[0].max()) <= 1235
    assert len(set(found[0].tolist())) > 32


def test_a_pre_hook_ran_before_what_is_recorded(record):
    x = np.full(4, 9, np.float32)

    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)

    kernel.add_pre_run_hook(lambda *args, **kwargs: x.fill(0))
    (found,) = replayed(record(lambda: kernel[(1,)](x, BLOCK=4)))
    assert found[0].tolist() == [1.0] * 4
    assert len(kernel.pre_run_hooks) == 1


def test_options_and_settings_come_back(record):
    x = np.zeros(4, np.float32)
    triton.knobs.runtime.debug = True
    try:
        file = record(lambda: add_one[(1,)](x, BLOCK=4, num_warps=8))
    finally:
        triton.knobs.runtime.debug = False
    seen = []
    with Replay(file) as replay:
        replay.run(
            file.launches[0], lambda *launch: seen.append((launch[3], triton.knobs.runtime.debug))
        )
    assert seen == [({"num_warps": 8}, True)] and not triton.knobs.runtime.debug
    head = json.loads(zipfile.ZipFile(file.path).read("launches.json"))
    assert head["format"] == "blockscope-launches" and head["version"] == 1
    assert types.SimpleNamespace(**head["environment"]).blockscope


def test_a_file_of_no_launch_is_not_written(tmp_path):
    (tmp_path / "script.py").write_text("print('nothing')\n")
    done = command("record", "script.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "nothing\n")
    assert "no kernel was launched: run.blk was not written" in done.stderr
    assert os.listdir(tmp_path) == ["script.py"]


def test_a_cell_that_cannot_be_read_is_an_error_of_the_file(record):
    file = record(lambda: add_one[(1,)](np.zeros(4, np.float32), BLOCK=4))
    file.close()
    os.truncate(file.path, os.path.getsize(file.path) - 40)
    with pytest.raises(LaunchFileError, match="is no launch file, or was cut short"):
        File(file.path)
