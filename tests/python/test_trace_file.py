"""Trace files as h5py reads them: what a traced launch leaves, and what is said when it cannot."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import blockscope
import blockscope as triton
import blockscope.language as tl
import h5py
import numpy as np
import pytest


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x * 2, mask=mask)


@triton.jit
def tile_kernel(x_ptr, out_ptr, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    offsets = tl.arange(0, ROWS)[:, None] * stride + tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


@triton.jit
def shifted_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets + 8))


@triton.jit
def count_kernel(index_ptr, counts_ptr, BLOCK: tl.constexpr):
    index = tl.load(index_ptr + tl.arange(0, BLOCK))
    tl.atomic_add(counts_ptr + index, 1)


def runs_of(launch):
    return {name: column[:] for name, column in launch["accesses"].items()}


def elements_of(runs, row):
    """Byte offsets of every element of a run."""
    inner = np.arange(runs["inner_count"][row]) * runs["inner_stride"][row]
    outer = np.arange(runs["outer_count"][row]) * runs["outer_stride"][row]
    return (runs["offset"][row] + outer[:, None] + inner[None, :]).ravel()


def text(attribute):
    return attribute.decode() if isinstance(attribute, bytes) else str(attribute)


@pytest.fixture
def traced(tmp_path):
    path = tmp_path / "t.h5"
    x = np.arange(1000, dtype=np.float32)
    out = np.zeros_like(x)
    with blockscope.trace(path):
        scale_kernel[(4,)](x, out, 1000, BLOCK=256)
    np.testing.assert_array_equal(out, x * 2)
    return path


def test_a_launch_is_recorded_with_arguments_ops_and_source(traced):
    with h5py.File(traced) as trace:
        assert text(trace.attrs["format"]) == "blockscope-trace"
        assert list(trace["launches"]) == ["0"]
        launch = trace["launches/0"]
        assert text(launch.attrs["kernel"]) == "scale_kernel"
        assert list(launch.attrs["grid"]) == [4, 1, 1]
        arguments = launch["arguments"]
        assert list(arguments["name"].asstr()[:2]) == ["x_ptr", "out_ptr"]
        assert list(arguments["dtype"].asstr()[:2]) == ["fp32", "fp32"]
        assert arguments["shape"][0, 0] == 1000 and arguments["strides"][0, 0] == 1
        assert list(arguments["storage_bytes"][:2]) == [4000, 4000]
        parameters = dict(
            zip(launch["parameters/name"].asstr()[:], launch["parameters/value"].asstr()[:])
        )
        assert parameters["BLOCK"] == "256"
        ops = {
            name: (line, variable)
            for name, line, variable in zip(
                launch["ops/name"].asstr()[:], launch["ops/line"][:],
                launch["ops/variable"].asstr()[:],
            )
        }  # fmt: skip
        first = scale_kernel.fn.__code__.co_firstlineno
        assert ops["tl.load"] == (first + 4, "x")
        assert ops["tl.store"][0] == first + 5
        paths = list(trace["sources/path"].asstr()[:])
        assert any(os.path.basename(path) == os.path.basename(__file__) for path in paths)
        assert "def scale_kernel" in "".join(trace["sources/text"].asstr()[:])


LIBRARY = """
import blockscope as triton

@triton.jit
def {name}(x):
    return {result}
"""


@pytest.mark.parametrize("step", [False, True])
def test_the_source_of_every_function_that_is_called_is_recorded(tmp_path, step, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1" if step else "0")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "trace_inner.py").write_text(LIBRARY.format(name="double", result="x * 2"))
    (tmp_path / "trace_outer.py").write_text(
        "from trace_inner import double\n"
        + LIBRARY.format(name="twice", result="double(double(x))")
    )
    (tmp_path / "trace_main.py").write_text(
        "import blockscope as triton\nimport blockscope.language as tl\nimport trace_outer\n"
        "@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, trace_outer.twice(tl.load(x_ptr)))\n"
    )
    x = np.ones(1, dtype=np.float32)
    with blockscope.trace(tmp_path / "trace.h5"):
        importlib.import_module("trace_main").kernel[(1,)](x)
    for name in ("trace_main", "trace_outer", "trace_inner"):
        monkeypatch.delitem(sys.modules, name)
    with h5py.File(tmp_path / "trace.h5") as trace:
        files = zip(trace["sources/path"].asstr()[:], trace["sources/text"].asstr()[:])
        texts = {os.path.basename(path): text for path, text in files}
    assert x[0] == 4
    for name in ("trace_main", "trace_outer", "trace_inner"):
        assert texts[f"{name}.py"] == (tmp_path / f"{name}.py").read_text()


def test_every_access_is_recorded_once(traced):
    with h5py.File(traced) as trace:
        launch = trace["launches/0"]
        runs = runs_of(launch)
        kinds = launch["ops/kind"][:]
        for kind, argument in ((0, 0), (1, 1)):
            touched = np.zeros(1000, int)
            for row in np.flatnonzero(runs["kind"] == kind):
                assert runs["argument"][row] == argument
                assert kinds[runs["op"][row]] == kind + 1
                np.add.at(touched, elements_of(runs, row) // 4, 1)
            assert (touched == 1).all()
        assert (runs["flags"] == 4).all()
        assert len(runs["offset"]) == 8  # a block is one run
        assert runs["masked_lanes"].sum() == 2 * 24
        assert sorted(set(runs["program"])) == [0, 1, 2, 3]


def test_a_tile_is_one_run(tmp_path):
    x = np.zeros((64, 100), np.float16)
    out = np.zeros_like(x)
    with blockscope.trace(tmp_path / "t.h5"):
        tile_kernel[(1,)](x, out, 100, ROWS=64, COLUMNS=32)
    with h5py.File(tmp_path / "t.h5") as trace:
        runs = runs_of(trace["launches/0"])
    assert len(runs["offset"]) == 2
    assert (runs["outer_count"] == 64).all() and (runs["inner_count"] == 32).all()
    assert (runs["outer_stride"] == 200).all() and (runs["inner_stride"] == 2).all()


def test_accesses_outside_are_marked_and_findings_come_along(tmp_path):
    x, out = np.zeros(32, np.float32), np.zeros(32, np.float32)
    with blockscope.check("asan") as report, blockscope.trace(tmp_path / "t.h5"):
        shifted_kernel[(1,)](x, out, BLOCK=32)
    assert len(report.findings) == 1
    with h5py.File(tmp_path / "t.h5") as trace:
        launch = trace["launches/0"]
        runs = runs_of(launch)
        outside = np.flatnonzero(runs["flags"] & 2)
        assert len(outside) == 1
        np.testing.assert_array_equal(elements_of(runs, outside[0]), np.arange(128, 160, 4))
        assert runs["masked_lanes"].sum() == 0
        assert list(launch["findings/code"].asstr()[:]) == ["oob-load"]
        assert launch["findings/op"][0] == runs["op"][outside[0]]
        assert launch["findings/argument"][0] == 0
        assert launch["findings/program"][0] == 0
        assert '"oob-load"' in launch["findings/json"].asstr()[0]


def test_a_trace_alone_lets_a_wrong_kernel_run_to_its_end(tmp_path):
    x, out = np.arange(32, dtype=np.float32), np.ones(32, np.float32)
    with blockscope.trace(tmp_path / "t.h5"):
        shifted_kernel[(1,)](x, out, BLOCK=32)
    np.testing.assert_array_equal(out[:24], x[8:])
    np.testing.assert_array_equal(out[24:], 0)


def test_atomics_are_atomics(tmp_path):
    index = np.array([3, 3, 0, 1] * 4, np.int32)
    counts = np.zeros(4, np.int32)
    with blockscope.trace(tmp_path / "t.h5"):
        count_kernel[(2,)](index, counts, BLOCK=16)
    assert list(counts) == [8, 8, 0, 16]
    with h5py.File(tmp_path / "t.h5") as trace:
        runs = runs_of(trace["launches/0"])
    touched = np.zeros(4, int)
    for row in np.flatnonzero(runs["kind"] == 2):
        np.add.at(touched, elements_of(runs, row) // 4, 1)
    assert list(touched) == list(counts)


def test_findings_stay_with_their_launch(tmp_path):
    x, out = np.zeros(32, np.float32), np.zeros(32, np.float32)
    with blockscope.check("asan"), blockscope.trace(tmp_path / "t.h5"):
        shifted_kernel[(1,)](x, out, BLOCK=32)
        scale_kernel[(1,)](x, out, 32, BLOCK=32)
    with h5py.File(tmp_path / "t.h5") as trace:
        assert len(trace["launches/0/findings/code"]) == 1
        assert len(trace["launches/1/findings/code"]) == 0


def test_contiguous_accesses_take_little_room(tmp_path):
    """10^8 element accesses stay under 100 MB; a tenth of them here."""
    n = 10_000_000 // 2
    x, out = np.zeros(n, np.float32), np.zeros(n, np.float32)
    with blockscope.trace(tmp_path / "t.h5"):
        scale_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    assert os.path.getsize(tmp_path / "t.h5") < 1_000_000


def test_an_exception_inside_the_block_still_leaves_a_good_file(tmp_path):
    x, out = np.zeros(32, np.float32), np.zeros(32, np.float32)
    with pytest.raises(KeyError), blockscope.trace(tmp_path / "t.h5"):
        scale_kernel[(1,)](x, out, 32, BLOCK=32)
        raise KeyError("of the user")
    with h5py.File(tmp_path / "t.h5") as trace:
        assert list(trace["launches"]) == ["0"]


def test_an_unwritable_trace_is_an_error_that_names_it(tmp_path):
    for path in (tmp_path / "none" / "t.h5", tmp_path):
        with pytest.raises(OSError, match="trace"), blockscope.trace(path):
            pass


def test_a_process_that_dies_leaves_a_file_that_says_so(tmp_path):
    path = tmp_path / "t.h5"
    path.write_bytes(b"an earlier trace")
    code = f"""
import os, blockscope
with blockscope.trace({str(path)!r}):
    os._exit(1)
"""
    subprocess.run([sys.executable, "-c", code], timeout=120, check=False)
    assert b"unfinished" in (tmp_path / "t.h5.partial").read_bytes()[:512]
    assert path.read_bytes() == b"an earlier trace"


def test_a_trace_goes_where_a_link_points_and_to_devices(tmp_path):
    (tmp_path / "link.h5").symlink_to("real.h5")
    x, out = np.zeros(32, np.float32), np.zeros(32, np.float32)
    for path in (tmp_path / "link.h5", tmp_path / "link.h5"):
        with blockscope.trace(path):
            scale_kernel[(1,)](x, out, 32, BLOCK=32)
        assert path.is_symlink()
        with h5py.File(tmp_path / "real.h5") as trace:
            assert list(trace["launches"]) == ["0"]
    with pytest.raises(OSError, match="/dev/null"), blockscope.trace("/dev/null"):
        pass
    assert Path("/dev/null").is_char_device()


@triton.jit
def scalars_kernel(x_ptr, n, scale, is_on, one, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, scale * one, mask=(offsets < n) & is_on)


@pytest.mark.parametrize("library", [np, pytest.importorskip("torch")])
def test_each_launch_has_the_scalars_that_it_got(library, tmp_path):
    """Also those that repeat in C++ (torch); in the order of the kernel's parameters."""
    x = library.zeros(8)
    path = tmp_path / "t.h5"
    with blockscope.trace(path):
        for n, scale, is_on in ((2, 0.5, True), (3, 1.0, False), (-4, 1e30, True)):
            scalars_kernel[(1,)](x, n, scale, is_on, 1, BLOCK=8)
    found = []
    with h5py.File(path) as trace:
        for launch in range(3):
            table = trace[f"launches/{launch}/parameters"]
            columns = (table[column].asstr()[:] for column in ("name", "value"))
            found.append(dict(zip(*columns, strict=True)))
    assert found == [
        {"n": "2", "scale": "0.5", "is_on": "True", "one": "1", "BLOCK": "8"},
        {"n": "3", "scale": "1.0", "is_on": "False", "one": "1", "BLOCK": "8"},
        {"n": "-4", "scale": "1e+30", "is_on": "True", "one": "1", "BLOCK": "8"},
    ]
    assert [*found[0]] == ["n", "scale", "is_on", "one", "BLOCK"]


@triton.jit
def update_kernel(x_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(x_ptr + offsets, x * 2, mask=mask)
    tl.atomic_add(sum_ptr + offsets % 2, x, mask=mask)


def values_of(launch):
    """Byte offset, argument, kind and program of each element that has values, with the values."""
    runs = runs_of(launch)
    values = {name: launch["values"][name][:] for name in ("run", "before", "after")}
    rows = np.unique(values["run"])
    offsets = np.concatenate([elements_of(runs, row) for row in rows])
    keys = {name: runs[name][values["run"]] for name in ("argument", "kind", "program")}
    return offsets, keys, values["before"], values["after"]


@pytest.mark.parametrize("step", [False, True])
def test_values_before_and_after_each_access(tmp_path, step, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1" if step else "0")
    monkeypatch.setattr(blockscope.knobs.runtime, "interpret", step)
    path = tmp_path / "t.h5"
    x, total = np.arange(1, 11, dtype=np.int32), np.zeros(2, np.int32)
    with blockscope.trace(path, values=True):
        update_kernel[(3,)](x, total, 10, BLOCK=4)
    with h5py.File(path) as trace:
        offsets, keys, before, after = values_of(trace["launches/0"])
        assert trace["launches/0/values"].attrs["dropped"] == [0]
    # The same by NumPy: programs in their order, lanes in their order.
    memory, sums, expected = np.arange(1, 11), np.zeros(2, int), []
    for program in range(3):
        lanes = range(4 * program, min(4 * program + 4, 10))
        loaded = {lane: memory[lane] for lane in lanes}
        expected += [(0, 0, program, 4 * lane, loaded[lane], loaded[lane]) for lane in lanes]
        for lane in lanes:
            expected.append((0, 1, program, 4 * lane, memory[lane], 2 * memory[lane]))
            memory[lane] *= 2
        for lane in lanes:
            was = sums[lane % 2]
            sums[lane % 2] += loaded[lane]
            expected.append((1, 2, program, 4 * (lane % 2), was, sums[lane % 2]))
    found = zip(keys["argument"], keys["kind"], keys["program"], offsets, before, after)
    assert [tuple(map(int, row)) for row in found] == [tuple(map(int, row)) for row in expected]
    assert list(total) == list(sums)


def test_values_are_of_the_first_elements_only(tmp_path):
    path = tmp_path / "t.h5"
    n = 3 << 18  # three quarters of what is kept are loaded, as many are stored
    x = np.arange(n, dtype=np.float32)
    out = np.zeros_like(x)
    with blockscope.trace(path, values=True):
        scale_kernel[(3,)](x, out, n, BLOCK=1 << 18)
    with h5py.File(path) as trace:
        launch = trace["launches/0"]
        kept = launch["values/run"].shape[0]
        assert kept == 1 << 20
        assert launch["values"].attrs["dropped"] == [2 * n - kept]
        runs = runs_of(launch)
        assert launch["values/run"][-1] == 3  # loads and stores of two programs
        assert sorted(set(runs["program"][:4])) == [0, 1]
        after = launch["values/after"][:].astype(np.uint32).view(np.float32)
        np.testing.assert_array_equal(after[1 << 18 : 2 << 18], x[: 1 << 18] * 2)


def test_without_being_asked_no_values_are_recorded(traced):
    with h5py.File(traced) as trace:
        assert "values" not in trace["launches/0"]
