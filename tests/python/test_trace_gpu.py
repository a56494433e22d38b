"""``blockscope trace --target``: sectors, wavefronts and flops against numbers by hand."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

SCRIPT = """
import blockscope as triton
import blockscope.language as tl
import numpy as np


@triton.jit
def strided(x_ptr, out_ptr, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets * STRIDE)
    tl.store(out_ptr + offsets, x * 2.0 + 1.0)


@triton.jit
def gather(index_ptr, x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offsets)
    tl.store(out_ptr + offsets, tl.load(x_ptr + index))


@triton.jit
def row_sum(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out_ptr + rows, tl.sum(x, axis=1))


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        ks = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * N + ks[None, :])
        b = tl.load(b_ptr + ks[:, None] * N + columns[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def transposed(x_ptr, out_ptr, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr + rows * BLOCK + columns)
    tl.store(out_ptr + rows * BLOCK + columns, tl.trans(x))


f32 = np.float32
strided[(2,)](np.zeros(1024, f32), np.zeros(1024, f32), STRIDE=1, BLOCK=512)
strided[(2,)](np.zeros(8192, f32), np.zeros(1024, f32), STRIDE=8, BLOCK=512)
index = np.zeros(128, np.int32)
index[:] = np.random.default_rng(5).permutation(1024)[:128]
gather[(1,)](index, np.zeros(1024, f32), np.zeros(128, f32), BLOCK=128)
row_sum[(1,)](np.zeros((16, 64), f32), np.zeros(16, f32), ROWS=16, COLUMNS=64)
half = [np.zeros((128, 128), np.float16) for _ in range(2)]
matmul[(4, 4)](*half, np.zeros((128, 128), f32), 128, N=128, BLOCK=32)
transposed[(1,)](np.zeros((32, 32), f32), np.zeros((32, 32), f32), BLOCK=32)
full = [np.zeros((32, 32), f32) for _ in range(3)]
matmul[(1, 1)](*full, 32, N=32, BLOCK=32)
np.save("index.npy", index)
"""
STRIDED_1, STRIDED_8, GATHER, ROW_SUM, MATMUL, TRANSPOSED, MATMUL_FP32 = map(str, range(7))


def run(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "blockscope", "trace", *words],
        capture_output=True, text=True, timeout=400, cwd=folder,
    )  # fmt: skip


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "script.py").write_text(SCRIPT)
    done = run(folder, "--target", "sm_90", "-o", "T.h5", "script.py")
    assert done.returncode == 0, done.stderr
    assert "not predicted" not in done.stderr, done.stderr
    return folder / "T.h5"


def table(trace, launch, name):
    """The rows of a table, each a dict."""
    columns = {
        key: column.asstr()[:] if column.dtype.kind == "S" else column[:]
        for key, column in trace["launches"][launch][name].items()
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def traffic(trace, launch):
    """By name of the op, in order of the lines, one after another."""
    names = trace["launches"][launch]["ops/name"].asstr()[:]
    return [(names[row["op"]], row) for row in table(trace, launch, "gpu_traffic")]


def sums(rows):
    return {
        name: sum(int(row[name]) for row in rows)
        for name in ("requests", "sectors", "least_sectors")
    }


def test_the_target_and_its_peaks_are_recorded(traced):
    with h5py.File(traced) as trace:
        (target,) = table(trace, STRIDED_1, "gpu_target")
        assert (target["target"], target["device"], target["warps"]) == ("sm_90a", "H100 SXM", 4)
        assert target["bytes_per_second"] == 3_350_000_000_000
        peaks = {
            (row["unit"], row["dtype"]): row["flops_per_second"]
            for row in table(trace, STRIDED_1, "gpu_peaks")
        }
        assert peaks["tensor", "fp16"] == 989_400_000_000_000
        assert peaks["vector", "fp32"] == 66_900_000_000_000


def test_contiguous_accesses_take_the_sectors_of_their_bytes(traced):
    with h5py.File(traced) as trace:
        rows = traffic(trace, STRIDED_1)
        assert [name for name, _ in rows] == ["tl.load", "tl.store"]
        for _, row in rows:  # 1024 floats are 128 sectors; 16 bytes a thread, a request is 512
            assert row["way"] == "threads" and row["bytes"] == 16 and row["accesses"] == 2
            assert (row["requests"], row["sectors"], row["least_sectors"]) == (8, 128, 128)


def test_a_stride_of_a_sector_takes_one_for_each_element(traced):
    with h5py.File(traced) as trace:
        (_, load), (_, store) = traffic(trace, STRIDED_8)
        assert load["sectors"] == 1024 and load["least_sectors"] == 128
        assert load["bytes"] == 4
        assert store["sectors"] == store["least_sectors"] == 128


def test_a_gather_takes_the_sectors_of_its_indices(traced):
    index = np.load(traced.parent / "index.npy")
    with h5py.File(traced) as trace:
        rows = traffic(trace, GATHER)
        gathered = [row for name, row in rows if name == "tl.load"][1]
        assert gathered["requests"] * 32 == 128  # an element a thread
        expected = sum(len(set(index[w * 32 : w * 32 + 32] // 8)) for w in range(4))
        assert gathered["sectors"] == expected
        assert gathered["least_sectors"] == 4 * 32 * 4 // 32


def work_of(trace, launch):
    found = {}
    for row in table(trace, launch, "gpu_work"):
        key = (row["unit"], row["dtype"])
        found[key] = found.get(key, 0) + int(row["flops"])
    return found


def test_floating_point_operations_are_counted(traced):
    with h5py.File(traced) as trace:
        assert work_of(trace, STRIDED_1) == {("vector", "fp32"): 2 * 1024}
        assert work_of(trace, ROW_SUM) == {("vector", "fp32"): 16 * 63}
        assert work_of(trace, MATMUL)["tensor", "fp16"] == 2 * 128**3
        assert work_of(trace, MATMUL_FP32)["tensor", "tf32"] == 2 * 32**3
        line = {row["line"] for row in table(trace, MATMUL, "gpu_work") if row["unit"] == "tensor"}
        text = SCRIPT.splitlines()
        assert [text[number - 1].strip() for number in line] == ["acc = tl.dot(a, b, acc)"]
        assert "gpu_work" in trace["launches"][GATHER] and work_of(trace, GATHER) == {}


def test_exchanges_through_shared_memory_are_listed(traced):
    text = SCRIPT.splitlines()
    with h5py.File(traced) as trace:
        rows = table(trace, TRANSPOSED, "gpu_exchanges")
        assert rows, "a transposition goes through shared memory"
        for row in rows:
            assert row["wavefronts"] >= row["least_wavefronts"] > 0
            # 32 x 32 floats by 4 warps: a warp moves 1 KiB, 8 wavefronts of 128 bytes
            assert row["least_wavefronts"] == 8
        loops = [row for row in table(trace, MATMUL, "gpu_exchanges") if row["in_loop"]]
        assert loops
        assert all("tl." in text[row["line"] - 1] for row in loops)


def test_the_results_are_those_of_a_plain_trace(traced, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    assert run(tmp_path, "-o", "plain.h5", "script.py").returncode == 0
    with h5py.File(traced) as trace, h5py.File(tmp_path / "plain.h5") as plain:
        for launch in plain["launches"]:
            assert "gpu_target" not in plain["launches"][launch]
            for runs in (trace, plain):
                assert runs["launches"][launch]["accesses/op"].shape[0] > 0
            one, other = (
                sum_of_elements(runs["launches"][launch]["accesses"]) for runs in (trace, plain)
            )
            assert one == other


def sum_of_elements(accesses):
    count = accesses["inner_count"][:].astype(np.int64) * accesses["outer_count"]
    return {
        (argument, kind): int(count[(accesses["argument"][:] == argument) & (kinds == kind)].sum())
        for kinds in [accesses["kind"][:]]
        for argument in range(3)
        for kind in range(3)
    }


def test_other_targets_by_name(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT.split("index = aligned")[0])
    for name, device in (("h200", "H200 SXM"), ("a100", "A100 SXM 80 GB"), ("sm_120a", "")):
        done = run(tmp_path, "--target", name, "-o", "T.h5", "script.py")
        assert done.returncode == 0, done.stderr
        assert ("no peaks" in done.stderr) == (not device)
        with h5py.File(tmp_path / "T.h5") as trace:
            assert table(trace, "0", "gpu_target")[0]["device"] == device
    done = run(tmp_path, "--target", "h300", "-o", "T.h5", "script.py")
    assert done.returncode == 2 and "unknown GPU architecture 'h300'" in done.stderr
    assert "h200" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.fixture
def csv():
    """csv(trace, launch, name) -> the rows of a table of the viewer."""
    from blockscope.cli.usage import UsageError
    from blockscope.cli.viewer import find_viewer

    try:
        viewer = find_viewer()
    except UsageError as error:
        pytest.skip(str(error))

    def rows(trace, launch, name):
        done = subprocess.run(
            [viewer, trace, "--launch", launch, "--csv", name],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        lines = done.stdout.splitlines()
        return [dict(zip(lines[0].split(","), line.split(","), strict=False)) for line in lines[1:]]

    return rows


def test_what_is_not_known_is_an_empty_cell(tmp_path, csv):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run(tmp_path, "--target", "l4", "-o", "T.h5", "script.py")
    assert done.stderr.count("'l4'") == 1, done.stderr
    rows = csv(tmp_path / "T.h5", MATMUL, "roofline")
    assert "tensor" in {row["unit"] for row in rows} and int(rows[-1]["flops"]) > 0
    assert {row["flops_per_second"] + row["bytes_per_second"] for row in rows} == {""}


def test_tables_of_the_viewer(traced, csv):
    load = csv(traced, STRIDED_8, "traffic")[0]
    assert load["name"] == "tl.load" and load["tensor"] == "x_ptr"
    assert (load["taken"], load["least"], load["ratio"]) == ("1024", "128", "8")
    rows = csv(traced, MATMUL, "roofline")
    flops = 2 * 128**3
    # Each of 16 programs loads 4 pairs of tiles of 2 KiB; each element of a and b is read once,
    # and each of c is written.
    asked = 16 * 4 * 2 * 2048 + 128 * 128 * 4
    once = 2 * 128 * 128 * 2 + 128 * 128 * 4
    assert [(row["flops"], row["bytes"]) for row in rows[-2:]] == [
        (str(flops), str(asked)), (str(flops), str(once))
    ]  # fmt: skip
    for row, size in zip(rows[-2:], (asked, once), strict=True):
        bound = flops / max(flops / 989.4e12, size / 3.35e12)
        assert float(row["flops_per_second"]) == pytest.approx(bound, rel=1e-3)
