"""``blockscope view``: pictures drawn with no display, and what it says of damaged files."""

import importlib
import os
import subprocess
import sys
import textwrap

import blockscope
import blockscope as triton
import blockscope.language as tl
import matplotlib.image
import numpy as np
import pytest
from blockscope import knobs
from blockscope.cli.usage import UsageError
from blockscope.cli.viewer import find_viewer

OUTSIDE = (255, 72, 60)
BACKGROUND = (18, 20, 25)
BORDER = (235, 239, 246)


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n_cols + tl.arange(0, BLOCK))
    tl.store(out_ptr + row, tl.sum(x, axis=0))


@pytest.fixture(scope="module")
def viewer():
    try:
        return find_viewer()
    except UsageError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Rows of 100 are summed in blocks of 128: the last one reads 28 elements past the end."""
    path = tmp_path_factory.mktemp("trace") / "broken.h5"
    x, out = np.ones((13, 100), np.float32), np.zeros(13, np.float32)
    with blockscope.check("asan"), blockscope.trace(path):
        row_sum_kernel[(13,)](x, out, 100, BLOCK=128)
    return path


def view(*words, check=True):
    """Run the command without any display."""
    variables = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    code = "import sys; from blockscope.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "view", *map(str, words)],
        capture_output=True, text=True, env=variables, timeout=240,
    )  # fmt: skip
    if check:
        assert done.returncode == 0, done.stderr
    return done


def picture(path):
    pixels = matplotlib.image.imread(path)[:, :, :3]
    return np.rint(pixels * 255).astype(int)


def mask_of(pixels, color):
    return (pixels == color).all(axis=2)


def heat_map_of(pixels):
    """Rows and columns between the borders of the tensor: the long bright lines."""
    bright = mask_of(pixels, BORDER)
    rows = np.flatnonzero(bright.sum(axis=1) > 200)
    top, bottom = rows.min(), rows.max()
    columns = np.flatnonzero(bright[top:bottom].sum(axis=0) > 0.7 * (bottom - top))
    left, right = columns.min(), columns.max()
    return top + 2, bottom - 1, left + 2, right - 1


def test_the_picture_shows_counts_border_and_accesses_outside(viewer, broken, tmp_path):
    view(broken, "--png", tmp_path / "a.png", "--tensor", "x_ptr", "--size", "1600x1000")
    pixels = picture(tmp_path / "a.png")
    assert pixels.shape == (1000, 1600, 3)
    top, bottom, left, right = heat_map_of(pixels)
    cell_height, cell_width = (bottom - top) / 13, (right - left) / 100

    def color(row, column):
        return tuple(pixels[int(top + (row + 0.5) * cell_height),
                            int(left + (column + 0.5) * cell_width)])  # fmt: skip

    once, twice = color(0, 50), color(1, 5)
    assert once != twice and OUTSIDE not in (once, twice)
    for row in range(1, 13):
        assert color(row, 10) == twice and color(row, 27) == twice
        assert color(row, 29) == once and color(row, 99) == once
    # Row 13 is outside: 28 elements were read.
    assert color(13, 5) == OUTSIDE and color(13, 26) == OUTSIDE
    assert color(13, 30) == BACKGROUND


def test_a_chosen_program_lights_its_footprint(viewer, broken, tmp_path):
    view(broken, "--png", tmp_path / "all.png")
    view(broken, "--png", tmp_path / "one.png", "--program", "4,0,0")
    everything, one = picture(tmp_path / "all.png"), picture(tmp_path / "one.png")
    top, bottom, left, right = heat_map_of(everything)
    height = (bottom - top) / 13
    lit, other = (int(top + (row + 0.5) * height) for row in (4, 8))
    middle = (left + right) // 2
    assert (everything[lit, middle] == one[lit, middle]).all()
    assert one[other, middle].sum() < everything[other, middle].sum()


@pytest.mark.parametrize("size", ["900x600", "1600x1000", "2560x1440"])
def test_every_size_draws_all_panels(viewer, broken, tmp_path, size):
    view(broken, "--png", tmp_path / "a.png", "--size", size)
    pixels = picture(tmp_path / "a.png")
    width, height = map(int, size.split("x"))
    assert pixels.shape == (height, width, 3)
    assert mask_of(pixels, OUTSIDE).sum() > 100
    thirds = [pixels[:, : width // 6], pixels[:, width // 4 : width // 2], pixels[:, -width // 4 :]]
    for part in thirds:
        assert len(np.unique(part.reshape(-1, 3), axis=0)) > 20


def test_a_small_picture_cuts_no_control(viewer, broken, tmp_path):
    view(broken, "--png", tmp_path / "a.png", "--size", "800x500")
    panel = picture(tmp_path / "a.png")[60:230, 216:496]  # the upper part of the heat map's
    columns = np.where(mask_of(panel, (43, 48, 58)).any(axis=0))[0]  # behind what can be pressed
    assert columns.size and columns.max() < panel.shape[1] - 16


def test_tables_come_as_csv(viewer, broken):
    done = subprocess.run(
        [viewer, broken, "--csv", "ops"], capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("op,name,file,line,column")
    assert any("tl.load" in line and ",1664,0,0,28," in line for line in lines)


def test_only_memory_ops_are_listed_and_can_be_chosen(viewer, broken):
    lines = view(broken, "--csv", "ops").stdout.splitlines()[1:]
    ops = {int(line.split(",")[0]): line.split(",")[1] for line in lines}
    assert ops and all(name.startswith("tl.") for name in ops.values())
    missing = next(number for number in range(100) if number not in ops)
    done = view(broken, "--csv", "heat", "--op", missing, check=False)
    listed = ", ".join(f"{op} ({name} in line " for op, name in ops.items())
    said = f"blockscope view: there is no memory op {missing}; the launch has "
    assert done.returncode == 2 and done.stderr.startswith(said + listed[: listed.index(" in")])
    assert all(f"{op} ({name} in line " in done.stderr for op, name in ops.items())


def test_a_bad_size_is_one_line(viewer, broken):
    done = view(broken, "--size", "10x10", check=False)
    assert done.returncode == 2 and done.stderr == (
        "blockscope view: '--size' is '10x10', expected WIDTHxHEIGHT from 640x480 to 16384x16384; "
        "--help lists the options\n"
    )


def damaged_files(broken, folder):
    whole = broken.read_bytes()
    flipped = bytearray(whole)
    flipped[len(flipped) // 2] ^= 0x20
    files = {
        "empty": (b"", "is empty"),
        "text": (b"hello, this is no trace\n", "is no Blockscope trace"),
        "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(2000), "is an HDF5 file, but no Blockscope trace"),
        "header": (whole[:300], "is cut short"),
        "half": (whole[: len(whole) // 2], "is cut short"),
        "flipped": (bytes(flipped), "is damaged or was changed"),
        "longer": (whole + b"more", "has something appended"),
        "newer": (whole.replace(b"TRACE 2", b"TRACE 7", 1), "has format version 7"),
    }
    for name, (content, message) in files.items():
        path = folder / f"{name}.h5"
        path.write_bytes(content)
        yield path, message


def test_files_that_are_no_traces_get_one_clear_line(viewer, broken, tmp_path):
    for path, message in damaged_files(broken, tmp_path):
        done = view(path, "--png", tmp_path / "never.png", check=False)
        assert done.returncode == 2, path
        assert message in done.stderr and path.name in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "never.png").exists()


def test_wrong_words_are_answered_with_what_there_is(viewer, broken, tmp_path):
    png = ("--png", tmp_path / "never.png")
    for words, message in (
        (("--tensor", "z_ptr"), "there is no tensor 'z_ptr'; the launch has x_ptr, out_ptr"),
        (("--program", "13,0,0"), "there is no program (13, 0, 0); the grid is 13 x 1 x 1"),
        (("--cell", "99999,0"), "there is no cell 99999,0; the nearest is "),
        (("--slice", "4"), "there is no slice 4; the tensor has 1"),
        (("--program", "-1,0,0"), "no program"),
        (("--launch", "5"), "has no launch 5; it holds 1"),
        (("--png", "/nonexistent/a.png"), "nonexistent"),
        (("--png", "heat.jpg"), "'--png' is 'heat.jpg', expected a name that ends in .png"),
    ):
        done = subprocess.run(
            [viewer, broken, *map(str, (*png, *words))],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 2 and message in done.stderr, done.stderr


def test_without_a_display_the_window_says_what_to_do(viewer, broken):
    done = view(broken, check=False)
    assert done.returncode == 2
    assert "--png" in done.stderr


@pytest.fixture
def three_files(tmp_path, monkeypatch):
    """A kernel whose load is in another file, and a product in a third one, which no op names."""
    files = {
        "load_part.py": """\
            import blockscope as triton
            import blockscope.language as tl

            # the file of the load
            @triton.jit
            def part(x_ptr, BLOCK: tl.constexpr):
                return tl.load(x_ptr + tl.arange(0, BLOCK))
            """,
        "scale_part.py": """\
            import blockscope as triton

            @triton.jit
            def doubled(x):
                return x * 2
            """,
        "main_part.py": """\
            import blockscope as triton
            import blockscope.language as tl
            from load_part import part
            from scale_part import doubled

            @triton.jit
            def kernel(x_ptr, BLOCK: tl.constexpr):
                tl.store(x_ptr + tl.arange(0, BLOCK), doubled(part(x_ptr, BLOCK)))
            """,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
        sys.modules.pop(name.removesuffix(".py"), None)
    monkeypatch.syspath_prepend(tmp_path)
    return {name: textwrap.dedent(text) for name, text in files.items()}


@pytest.mark.parametrize("step", [False, True])
def test_every_file_that_the_kernel_calls_into_is_in_the_trace(viewer, three_files, step, tmp_path):
    h5py = pytest.importorskip("h5py")
    kernel = importlib.import_module("main_part").kernel
    path = tmp_path / "t.h5"
    with knobs.runtime.scope(), blockscope.trace(path):
        blockscope.set_interpret_mode(step)
        kernel[(1,)](np.ones(32, np.float32), BLOCK=32)
    with h5py.File(path) as trace:
        sources = trace["sources"]
        texts = dict(zip(sources["path"].asstr()[:], sources["text"].asstr()[:], strict=True))
        first = sources["path"].asstr()[0]
    assert {os.path.basename(name): text for name, text in texts.items()} == three_files
    assert os.path.basename(first) == "main_part.py"
    # The viewer goes to the file of the op that is chosen, and shows its lines.
    ops = view(path, "--csv", "ops").stdout.splitlines()
    (load,) = [line.split(",")[0] for line in ops if ",tl.load," in line]
    lines = view(path, "--op", load, "--csv", "lines").stdout.splitlines()
    assert [line.split(",")[:2] for line in lines[1:]] == [[str(tmp_path / "load_part.py"), "7"]]
    (store,) = [line.split(",")[0] for line in ops if ",tl.store," in line]
    pictures = []
    for op in (load, store):
        view(path, "--op", op, "--png", tmp_path / f"{op}.png")
        pictures.append(picture(tmp_path / f"{op}.png"))
    assert (pictures[0] != pictures[1]).any(axis=2).sum() > 1000


WHITE = (255, 255, 255)


def marks_in(pixels, rows, columns):
    """Share of white pixels in a part of the heat map, given as shares of its height and width."""
    top, bottom, left, right = heat_map_of(pixels)
    height, width = bottom - top, right - left
    part = pixels[int(top + rows[0] * height) : int(top + rows[1] * height),
                  int(left + columns[0] * width) : int(left + columns[1] * width)]  # fmt: skip
    return mask_of(part, WHITE).mean()


def traced(kernel, path):
    code = "import sys; from blockscope.cli import main; sys.exit(main())"
    script = os.path.join(os.path.dirname(__file__), "..", "kernels", f"{kernel}.py")
    subprocess.run(
        [sys.executable, "-c", code, "trace", "--checks", "all", script, "-o", path],
        capture_output=True, timeout=240, check=True,
    )  # fmt: skip


# Where marks are and where none are, as shares of the tensor's height and width.
MARKED = {
    "padding_read_by_host_bad": (((0.1, 0.9), (0.82, 0.98)), ((0.1, 0.9), (0.1, 0.7)), 84),
    "tail_of_each_row_bad": (((0.1, 0.9), (0.88, 0.98)), ((0.1, 0.9), (0.1, 0.8)), 176),
    "padded_row_reads_next_bad": (((0.25, 0.95), (0.05, 0.25)), ((0.1, 0.9), (0.4, 0.9)), 140),
}


@pytest.mark.parametrize("kernel", MARKED)
def test_elements_of_a_finding_are_marked(viewer, kernel, tmp_path):
    h5py = pytest.importorskip("h5py")
    marked, unmarked, elements = MARKED[kernel]
    path = tmp_path / "t.h5"
    traced(kernel, path)
    with h5py.File(path) as trace:
        table = trace["launches/0/finding_elements"]
        first = table["finding"][:] == 0
        counts = table["inner_count"][:] * table["outer_count"][:]
        assert counts[first].sum() == elements
        roles = trace["launches/0/finding_places/role"].asstr()[:]
        assert roles[0] == "here"
    view(path, "--finding", 0, "--png", tmp_path / "a.png")
    pixels = picture(tmp_path / "a.png")
    assert marks_in(pixels, *marked) > 0.1
    assert marks_in(pixels, *unmarked) == 0


def test_both_sides_of_a_race_are_shown(viewer, tmp_path):
    traced("missing_lock_bad", tmp_path / "t.h5")
    view(tmp_path / "t.h5", "--finding", 0, "--png", tmp_path / "a.png")
    pixels = picture(tmp_path / "a.png")
    for color in ((255, 170, 40), (255, 132, 224)):
        assert mask_of(pixels[:, :300], color).sum() > 10  # the letter of the program
        assert mask_of(pixels[:510, -580:], color).sum() > 50  # the line
        assert mask_of(pixels[510:, -580:], color).sum() > 50  # the finding
