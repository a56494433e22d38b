"""Traces that were made to do harm: each is one clear error, quickly, in little memory.

The files are good ones, changed with h5py or byte by byte, with their checksum made right again.
"""

import resource
import struct
import subprocess
import zlib

import blockscope
import blockscope as triton
import blockscope.language as tl
import h5py
import numpy as np
import pytest
from blockscope.cli.usage import UsageError
from blockscope.cli.viewer import find_viewer

ENVELOPE = 512
ROWS = 2**33 - 1


@triton.jit
def copy_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


@pytest.fixture(scope="module")
def viewer():
    try:
        return find_viewer()
    except UsageError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "good.h5"
    x = np.zeros(64, np.float32)
    with blockscope.trace(path):
        copy_kernel[(1,)](x, np.zeros_like(x), BLOCK=64)
    return path.read_bytes()


def sealed(body, version=2):
    """An HDF5 part with the envelope that says it is whole."""
    head = f"BLOCKSCOPE TRACE {version}\nbytes {len(body) + ENVELOPE}\n"
    head += f"crc32 {zlib.crc32(body):08x}\nThe rest is HDF5.\n"
    return head.encode().ljust(ENVELOPE, b"\0") + body


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def view(viewer, path, *words):
    """Tables of the trace; the viewer may take a few seconds and 4 GiB."""
    return subprocess.run(
        [viewer, path, *(words or ("--csv", "heat"))],
        capture_output=True, text=True, timeout=60, preexec_fn=limit_memory,
    )  # fmt: skip


def problem_of(viewer, path):
    done = view(viewer, path)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert len(done.stderr.splitlines()) == 1 and path.name in done.stderr, done.stderr
    assert "HDF5 library" not in done.stderr
    return done.stderr


@pytest.fixture
def changed(viewer, good, tmp_path):
    """What the viewer says of the good trace after a change of its content."""

    def problem(change):
        path = tmp_path / "changed.h5"
        path.write_bytes(good)
        with h5py.File(path, "r+") as trace:
            change(trace)
        path.write_bytes(sealed(path.read_bytes()[ENVELOPE:]))
        return problem_of(viewer, path)

    return problem


def replace(group, name, data=None, **how):
    del group[name]
    group.create_dataset(name, data=data, **how)


def set_values(dataset, value):
    dataset[...] = value


def test_the_good_trace_is_good(viewer, good, tmp_path):
    path = tmp_path / "good.h5"
    path.write_bytes(sealed(good[ENVELOPE:]))
    assert path.read_bytes() == good
    assert view(viewer, path).returncode == 0


@pytest.mark.parametrize("stored", [False, True])
def test_rows_that_the_file_has_no_room_for(changed, stored):
    def change(trace):
        accesses = trace["launches/0/accesses"]
        for name in list(accesses):
            kind = accesses[name].dtype
            replace(accesses, name, shape=(ROWS,), dtype=kind, chunks=(65536,), compression=1,
                    shuffle=kind.itemsize > 1)  # fmt: skip
            if stored and name == "offset":
                accesses[name][:65536] = 0
                accesses[name][0] = 1

    assert f"says it has {ROWS} rows and holds at most" in changed(change)


def test_rows_of_a_small_table(changed):
    def change(trace):
        ops = trace["launches/0/ops"]
        replace(ops, "name", shape=(2**30,), dtype="S64", chunks=(2**20,), compression=1)

    assert "'launches/0/ops/name'" in changed(change)


def test_a_run_longer_than_any_block(changed):
    def change(trace):
        set_values(trace["launches/0/accesses/inner_count"], 2**31)
        set_values(trace["launches/0/accesses/inner_stride"], 8)

    assert "longer than any block" in changed(change)


def test_an_offset_without_a_magnitude(changed):
    problem = changed(
        lambda trace: set_values(trace["launches/0/arguments/base_offset_bytes"], -(2**63))
    )
    assert "argument 'x_ptr' make no sense" in problem


def test_data_of_another_file_is_not_read(changed, tmp_path):
    (tmp_path / "secret").write_bytes(b"s" * 256)

    def external(trace):
        name = trace["sources/path"]
        replace(trace["sources"], "path", shape=name.shape, dtype=name.dtype,
                external=[(str(tmp_path / "secret"), 0, name.dtype.itemsize)])  # fmt: skip

    assert "'sources/path' is kept in another file" in changed(external)

    def virtual(trace):
        name = trace["sources/path"]
        layout = h5py.VirtualLayout(shape=name.shape, dtype=name.dtype)
        layout[...] = h5py.VirtualSource(str(tmp_path / "none.h5"), "x", shape=name.shape)
        del trace["sources/path"]
        trace["sources"].create_virtual_dataset("path", layout)

    assert "'sources/path'" in changed(virtual)

    def linked(trace):
        del trace["sources/path"]
        trace["sources/path"] = h5py.ExternalLink(str(tmp_path / "none.h5"), "x")

    assert "'sources/path' is missing" in changed(linked) or "'sources'" in changed(linked)


def test_no_filter_but_ours_is_run(changed):
    def change(trace):
        lines = trace["launches/0/ops/line"]
        replace(trace["launches/0/ops"], "line", data=lines[...], chunks=lines.shape,
                compression="lzf")  # fmt: skip

    assert "'launches/0/ops/line' is not stored as the columns of a trace are" in changed(change)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ops/source", 7, "of op 0 names nothing"),
        ("ops/source", -2, "of op 0 names nothing"),
        ("ops/line", -5, "of op 0 names nothing"),
        ("ops/kind", 9, "of op 0 names nothing"),
        ("arguments/rank", -1, "'launches/0/arguments/rank'"),
        ("arguments/rank", 2**31 - 1, "'launches/0/arguments/rank'"),
        ("arguments/shape", 2**62, "make no sense"),
        ("arguments/strides", -(2**63), "make no sense"),
        ("arguments/element_bytes", 2**40, "make no sense"),
        ("accesses/op", 2**32 - 1, "names op 4294967295 of"),
        ("accesses/argument", -2, "names argument -2 of 2"),
        ("accesses/argument", 2**31 - 1, "names argument 2147483647 of 2"),
        ("accesses/program", 1, "names program 1 of 1"),
        ("accesses/kind", 3, "has kind 3"),
        ("accesses/offset", -(2**63), "longer than any block"),
        ("accesses/inner_stride", 2**63 - 1, "longer than any block"),
        ("accesses/outer_stride", -(2**63), "longer than any block"),
    ],
)
def test_numbers_that_name_nothing(changed, name, value, expected):
    assert expected in changed(lambda trace: set_values(trace["launches/0"][name], value))


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("run", -1, "'launches/0/values' names run -1 of 2"),
        ("run", 2**62, "'launches/0/values' names run 4611686018427387904 of 2"),
        ("run", 0, "has 128 values of run 0, which has 64 elements of 4 bytes"),
    ],
)
def test_values_that_belong_to_no_element(viewer, tmp_path, column, value, expected):
    path = tmp_path / "values.h5"
    x = np.zeros(64, np.float32)
    with blockscope.trace(path, values=True):
        copy_kernel[(1,)](x, np.zeros_like(x), BLOCK=64)
    assert view(viewer, path).returncode == 0
    with h5py.File(path, "r+") as trace:
        set_values(trace["launches/0/values"][column], value)
    path.write_bytes(sealed(path.read_bytes()[ENVELOPE:]))
    assert expected in problem_of(viewer, path)


@pytest.mark.parametrize("grid", [(0, 1, 1), (2**31, 1, 1), (2**31 - 1, 2**31 - 1, 2**31 - 1)])
def test_grids_that_no_launch_has(changed, grid):
    def change(trace):
        trace["launches/0"].attrs["grid"] = np.array(grid, np.int64)

    assert "'grid' has" in changed(change)


def test_names_cannot_leave_the_folder_nor_act_on_a_terminal(viewer, good, tmp_path):
    path = tmp_path / "named.h5"
    path.write_bytes(good)
    with h5py.File(path, "r+") as trace:
        replace(trace["launches/0/arguments"], "name", np.array([b"\x1b]0;x\x07", b"../y"], "S16"))
        replace(trace["launches/0/ops"], "variable",
                np.array([b"\x1b[2J"] * len(trace["launches/0/ops/line"]), "S16"))  # fmt: skip
    path.write_bytes(sealed(path.read_bytes()[ENVELOPE:]))
    assert "\x1b" not in view(viewer, path, "--csv", "ops").stdout
    done = view(viewer, path, "--png", tmp_path / "never.png", "--tensor", "z")
    assert done.returncode == 2 and "\x1b" not in done.stderr and "../y" in done.stderr


def test_places_in_the_file_that_point_anywhere(viewer, good, tmp_path):
    """Every address and size of the HDF5 part, one at a time, is made far too large."""
    body = good[ENVELOPE:]
    path = tmp_path / "pointer.h5"
    places = [
        at
        for at in range(0, len(body) - 8, 8)
        if 0 < struct.unpack_from("<Q", body, at)[0] < len(body)
    ]
    assert len(places) > 300
    for at in places[:: max(1, len(places) // 60)]:
        for value in (0, at, len(body) - 1, 2**63 - 1, 2**64 - 1):
            changed = bytearray(body)
            struct.pack_into("<Q", changed, at, value)
            path.write_bytes(sealed(bytes(changed)))
            done = view(viewer, path)
            assert done.returncode in (0, 2), (at, value, done.returncode, done.stderr)
