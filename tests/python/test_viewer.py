"""``blockscope view``: pictures drawn with no display, and what it says of damaged files."""

import csv
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
ERROR = (255, 108, 96)


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
    panel = picture(tmp_path / "a.png")[60:230, 8:392]  # the upper part of the heat map's
    columns = np.where(mask_of(panel, (43, 48, 58)).any(axis=0))[0]  # behind what can be pressed
    assert columns.size and columns.max() < panel.shape[1] - 16


def test_a_reader_that_has_enough_is_told_nothing(viewer, broken):
    done = subprocess.run(
        ["sh", "-c", f"trap '' PIPE; '{viewer}' '{broken}' --csv heat | head -n 1"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stderr == "" and len(done.stdout.splitlines()) == 1


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


@triton.jit
def count_kernel(x_ptr, total_ptr):
    tl.atomic_add(total_ptr, tl.load(x_ptr + tl.program_id(0)))


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    path = tmp_path_factory.mktemp("values") / "counted.h5"
    x, total = np.array([0.5, 2, 0.125, 4], np.float32), np.zeros(1, np.float32)
    with blockscope.trace(path, values=True):
        count_kernel[(4,)](x, total)
    return path


def test_the_history_of_an_element_as_csv(viewer, counted):
    done = view(counted, "--tensor", "total_ptr", "--cell", "0,0", "--csv", "history")
    rows = [line.split(",") for line in done.stdout.splitlines()]
    assert rows[0] == ["access", "run", "program", "x", "y", "z", "op", "name", "file", "line",
                       "kind", "before", "after"]  # fmt: skip
    assert [row[2] for row in rows[1:]] == ["0", "1", "2", "3"]
    assert {row[10] for row in rows[1:]} == {"atomic"}
    assert [row[11:] for row in rows[1:]] == [
        ["0", "0.5"], ["0.5", "2.5"], ["2.5", "2.625"], ["2.625", "6.625"]
    ]  # fmt: skip
    line = count_kernel.fn.__code__.co_firstlineno + 2
    assert {row[9] for row in rows[1:]} == {str(line)}


def test_tables_of_the_gpu_need_a_prediction(viewer, broken):
    for table in ("traffic", "roofline"):
        done = view(broken, "--csv", table, check=False)
        assert done.returncode == 2 and not done.stdout
        assert done.stderr == (
            f"blockscope view: '--csv {table}' needs a prediction for a GPU, and launch 0 has "
            "none: record it with blockscope trace --target sm_90\n"
        )


def test_a_moment_past_the_end_is_an_error(viewer, counted, runs):
    last = 2 * 4  # four programs, of which each reads and adds once
    for words, said in (
        (("--time", last + 1), f"'--time' is '{last + 1}', expected access runs from 0 to {last}"),
        (("--window", 0), f"'--window' is '0', expected access runs from 1 to {last}"),
        (("--window", 99), f"'--window' is '99', expected access runs from 1 to {last}"),
    ):
        done = view(counted, *words, "--csv", "heat", check=False)
        assert done.returncode == 2 and not done.stdout
        assert done.stderr == f"blockscope view: {said}: the launch has no more\n"
    view(counted, "--time", last, "--window", last, "--csv", "heat")
    done = view("--compare", counted, counted, "--time", 1, "--csv", "heat", check=False)
    assert done.returncode == 2 and "'--time' chooses in one run, found two" in done.stderr


def test_the_history_needs_an_element(viewer, counted):
    done = view(counted, "--csv", "history", check=False)
    assert done.returncode == 2 and done.stderr == (
        "blockscope view: '--csv history' needs the element: --cell ROW,COLUMN\n"
    )


def test_the_history_is_a_panel_below_the_heat_map(viewer, counted, tmp_path):
    words = ("--tensor", "total_ptr", "--cell", "0,0", "--png")
    view(counted, *words, tmp_path / "without.png")
    view(counted, *words, tmp_path / "with.png", "--panel", "history")
    without, shown = picture(tmp_path / "without.png"), picture(tmp_path / "with.png")
    middle = slice(310, 1000)  # of a picture of 1600 x 1000: the columns of the heat map
    assert (without[200:620, :290] == shown[200:620, :290]).all()
    atomic = (214, 140, 255)
    assert mask_of(shown[620:, middle], atomic).sum() > mask_of(without[620:, middle], atomic).sum()


def height_of_title(pixels):
    """Rows from the top to the bottom of the kernel's name, which is at the upper left."""
    ink = np.flatnonzero((pixels[4:70, 16:100] != BACKGROUND).any(axis=2).any(axis=1))
    last = np.flatnonzero(np.diff(ink) > 1)
    return (ink[last[0]] if last.size else ink[-1]) - ink[0] + 1


def test_text_grows_as_asked(viewer, broken, tmp_path):
    heights = {}
    for percent in (100, 150, 200):
        view(broken, "--text-size", percent, "--png", tmp_path / f"{percent}.png")
        pixels = picture(tmp_path / f"{percent}.png")
        assert pixels.shape == (1000, 1600, 3)
        heights[percent] = height_of_title(pixels)
        assert mask_of(pixels, OUTSIDE).sum() > 100
    assert abs(heights[150] - 1.5 * heights[100]) <= 2
    assert abs(heights[200] - 2 * heights[100]) <= 2


def test_colors_are_chosen(viewer, broken, tmp_path):
    colors = {}
    for name in ("viridis", "cividis", "grey"):
        view(broken, "--colors", name, "--png", tmp_path / "a.png", "--tensor", "x_ptr")
        pixels = picture(tmp_path / "a.png")
        top, bottom, left, right = heat_map_of(pixels)
        colors[name] = tuple(pixels[int(top + 1.5 * (bottom - top) / 13), left + 30])
    assert len(set(colors.values())) == 3
    assert colors["grey"] == (255, 255, 255)
    for words, said in (
        (("--colors", "rainbow"), "'--colors' is 'rainbow', expected viridis, cividis or grey"),
        (("--text-size", "300"), "'--text-size' is '300', expected percent from 75 to 200"),
        (("--difference-colors", "red"), "expected blue-orange or purple-green"),
    ):
        done = subprocess.run([viewer, broken, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and said in done.stderr


def test_a_broken_state_file_is_one_line(viewer, broken, tmp_path):
    """No window opens without a display, but what was kept of the last one is read before."""
    state = tmp_path / "blockscope" / "viewer"
    state.parent.mkdir()
    variables = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    variables["XDG_STATE_HOME"] = str(tmp_path)

    def said_with(text):
        state.write_text(text)
        done = subprocess.run([viewer, broken], capture_output=True, text=True, timeout=60,
                              env=variables)  # fmt: skip
        assert done.returncode == 2
        return done.stderr.splitlines()

    window = said_with("blockscope-viewer 1\ntext-size 150\n")
    assert len(window) == 1 and "no window can be opened" in window[0]
    assert said_with("blockscope-viewer 1\ntext-size 9\n") == [
        f"blockscope view: '{state}' is not used: line 2 has a value that it cannot have", *window
    ]  # fmt: skip
    view(broken, "--png", tmp_path / "a.png")  # a picture does not depend on it
    assert height_of_title(picture(tmp_path / "a.png")) < 25


# Launch files, folders, two runs

SCRIPT = """
    import torch, triton, triton.language as tl

    @triton.jit
    def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.device_print("n", n)
        x = tl.load(x_ptr + offsets{mask})
        tl.store(out_ptr + offsets, x * 2, mask=offsets < n)

    for n in (100, 130):
        x = torch.ones(n)
        try:
            scale[(triton.cdiv(n, 64),)](x, torch.empty(n), n, BLOCK=64)
        except RuntimeError as error:  # without checks the wrong one ends
            print(error)
    """


def command(*words, **more):
    code = "import sys; from blockscope.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True, text=True, timeout=240, **more,
    )  # fmt: skip


def rows_of(done):
    assert done.returncode == 0, done.stderr
    head, *rows = csv.reader(done.stdout.splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Launch files and traces of a kernel without its mask, and with it: from one script's path,
    as before and after it was mended."""
    folder = tmp_path_factory.mktemp("runs")
    script = folder / "script.py"
    for name, mask in (("wrong", ""), ("mended", ", mask=offsets < n")):
        script.write_text(textwrap.dedent(SCRIPT.format(mask=mask)))
        command("record", "-o", folder / f"{name}.blk", script)
        command("trace", "-o", folder / f"{name}.h5", script)
    script.write_text("")
    command("trace", folder / "wrong.blk", "-o", folder / "from_launches.h5")
    assert len(list(folder.iterdir())) == 6
    return folder


def test_a_launch_file_shows_what_its_trace_would(viewer, runs, tmp_path):
    from_trace = view(runs / "from_launches.h5", "--csv", "findings")
    done = view(runs / "wrong.blk", "--csv", "findings")
    assert done.stdout == from_trace.stdout and "oob-load" in done.stdout
    assert f"recorded 2 launches with 1 error of {runs / 'wrong.blk'}\n" in done.stderr
    # --launch takes the number that the file has, and records that launch alone.
    heat = rows_of(view(runs / "wrong.blk", "--launch", 1, "--csv", "heat", "--tensor", "out_ptr"))
    assert len(heat) == 130
    done = view(runs / "wrong.blk", "--launch", 7, "--csv", "heat", check=False)
    assert done.returncode == 2 and "has no launch 7, its launches are 0, 1" in done.stderr
    done = view(runs / "wrong.blk", "--checks", "none", "--csv", "findings")
    assert len(done.stdout.splitlines()) == 1 and "with" not in done.stderr.splitlines()[-1]
    view(runs / "wrong.blk", "--png", tmp_path / "blk.png", "--tensor", "x_ptr")
    assert mask_of(picture(tmp_path / "blk.png"), OUTSIDE).sum() > 100


def test_a_launch_file_that_is_none_is_one_line(viewer, tmp_path):
    (tmp_path / "text.blk").write_text("hello")
    done = view(tmp_path / "text.blk", "--csv", "heat", check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "text.blk" in done.stderr and not done.stdout


@pytest.fixture(scope="module")
def folder(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    for name in ("wrong.h5", "mended.h5", "wrong.blk"):
        (folder / name).write_bytes((runs / name).read_bytes())
    (folder / "cut.h5").write_bytes((runs / "wrong.h5").read_bytes()[:2000])
    (folder / "notes.txt").write_text("nothing")
    return folder


def test_a_folder_is_a_list_of_its_traces(viewer, folder, tmp_path):
    rows = {row["file"]: row for row in rows_of(view(folder, "--csv", "traces"))}
    assert list(rows) == ["cut.h5", "mended.h5", "wrong.blk", "wrong.h5"]
    assert rows["cut.h5"]["problem"].startswith("is cut short")
    launches = rows["wrong.blk"]  # no trace, but nothing is wrong with it
    assert (launches["problem"], launches["how"]) == ("", "blockscope view wrong.blk")
    assert {row["how"] for name, row in rows.items() if name != "wrong.blk"} == {""}
    wrong, mended = rows["wrong.h5"], rows["mended.h5"]
    assert (wrong["launches"], wrong["kernels"], wrong["errors"]) == ("2", "scale", "1")
    assert (mended["launches"], mended["errors"], mended["problem"]) == ("2", "0", "")
    view(folder, "--png", tmp_path / "a.png")
    pixels = picture(tmp_path / "a.png")
    assert mask_of(pixels, (245, 184, 61)).sum() > 50  # why it cannot be shown
    red = mask_of(pixels, ERROR)
    assert red[:, :1480].sum() > 20  # the errors, but not the sizes at the right of them
    assert not red[:, 1500:].any()
    warned = mask_of(pixels, (245, 184, 61)).any(axis=1)
    assert np.flatnonzero(np.diff(warned.astype(int)) == 1).size <= 2  # cut.h5 alone
    ink = (pixels[70:, 20:400] != pixels[900, 30]).any(axis=2).any(axis=1)
    assert np.flatnonzero(np.diff(ink.astype(int)) == 1).size >= 8  # a row or two for each file


def test_what_a_folder_cannot_do_is_one_line(viewer, folder, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for words, said in (
        ((empty,), f"folder '{empty}' holds no trace file"),
        ((folder, "--tensor", "x_ptr"), "'--tensor' chooses in a trace, found a folder"),
        ((folder, "--csv", "heat"), "'--csv' is 'heat', expected traces, of a folder"),
        (("--compare", folder, folder), "is a folder, expected a trace or a launch file"),
        (("--compare", folder / "cut.h5", folder / "wrong.h5"), "is cut short"),
        ((folder / "wrong.h5", "--compare", folder, folder), "--compare takes two runs, found"),
        ((), "a trace, a launch file or a folder of traces is expected"),
        ((folder / "wrong.h5", "--checks", "asan"), "--checks is for launch files"),
    ):
        done = view(*words, "--png", tmp_path / "never.png", check=False) \
            if "--csv" not in words else view(*words, check=False)  # fmt: skip
        assert done.returncode == 2 and said in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1


MORE_IN_A, MORE_IN_B, EQUAL = (176, 78, 0), (15, 82, 168), (206, 207, 205)


def near(pixels, color):
    return (abs(pixels - np.array(color)) <= 2).all(axis=2)


def test_two_runs_are_matched_and_subtracted(viewer, runs):
    words = ("--compare", runs / "wrong.h5", runs / "mended.h5")
    tensors = {row["tensor"]: row for row in rows_of(view(*words, "--csv", "tensors"))}
    x, out = tensors["x_ptr"], tensors["out_ptr"]
    assert (x["a_reads"], x["a_outside"], x["b_reads"], x["b_outside"]) == ("128", "28", "100", "0")
    assert (x["more_in_a"], x["more_in_b"], x["equal"]) == ("0", "0", "100")
    assert (out["a_writes"], out["b_writes"], out["equal"]) == ("100", "100", "100")
    heat = rows_of(view(*words, "--csv", "heat", "--tensor", "x_ptr"))
    outside = [row for row in heat if row["inside"] == "0"]
    assert len(heat) == 128 and len(outside) == 28
    assert all(row["read_difference"] == "1" and row["b_loads"] == "0" for row in outside)
    assert all(row["read_difference"] == "0" for row in heat if row["inside"] == "1")
    launches = rows_of(view(*words, "--csv", "launches"))
    assert [(row["kernel"], row["a_launch"], row["b_launch"]) for row in launches] == [
        ("scale", "0", "0"), ("scale", "1", "1")
    ]  # fmt: skip


def test_the_difference_map_has_the_sign_of_a_minus_b(viewer, runs, tmp_path):
    wrong, mended = runs / "wrong.h5", runs / "mended.h5"
    seen = {}
    for name, (a, b) in {
        "ab": (wrong, mended),
        "ba": (mended, wrong),
        "aa": (wrong, wrong),
    }.items():
        view("--compare", a, b, "--tensor", "x_ptr", "--png", tmp_path / f"{name}.png")
        seen[name] = picture(tmp_path / f"{name}.png")
    lower = {name: pixels[520:960, 40:680] for name, pixels in seen.items()}
    assert near(lower["ab"], MORE_IN_A).sum() > 2000 and not near(lower["ab"], MORE_IN_B).any()
    assert near(lower["ba"], MORE_IN_B).sum() > 2000 and not near(lower["ba"], MORE_IN_A).any()
    for pixels in lower.values():
        assert near(pixels, EQUAL).sum() > 10_000
    assert not near(lower["aa"], MORE_IN_A).any() and not near(lower["aa"], MORE_IN_B).any()
    # A and B stand beside one another, with one zoom: their borders are at the same rows.
    top = mask_of(seen["ab"][100:500], BORDER)
    left, right = top[:, :790].sum(axis=1) > 200, top[:, 800:].sum(axis=1) > 200
    assert left.sum() >= 4 and (left == right).all()
    assert mask_of(seen["ab"][100:500, :790], OUTSIDE).sum() > 500
    assert not mask_of(seen["ab"][100:500, 800:], OUTSIDE).any()


def test_launch_files_from_one_script_are_compared(viewer, runs):
    """Their kernels have the same path and lines, and other sources."""
    words = ("--compare", runs / "wrong.blk", runs / "mended.blk", "--csv", "tensors")
    done = view(*words)
    from_traces = view("--compare", runs / "wrong.h5", runs / "mended.h5", "--csv", "tensors")
    assert done.stdout == from_traces.stdout
    mixed = view("--compare", runs / "wrong.h5", runs / "mended.blk", "--csv", "tensors")
    assert mixed.stdout == from_traces.stdout
    second = rows_of(view(*words, "--launch", 1))
    assert [row["b_reads"] for row in second] == ["130", "0"]
    done = view(*words, "--launch", 5, check=False)
    assert done.returncode == 2 and "has no launch 5, its launches are 0, 1" in done.stderr


def test_what_cannot_be_compared_is_said(viewer, runs, broken, tmp_path):
    for words, said in (
        ((broken, runs / "wrong.h5"),
         "the two runs have no kernel in common: A launches 'row_sum_kernel', B 'scale'"),
        ((broken, broken, "--finding", "0"), "'--finding' chooses in one run, found two"),
        ((broken, broken, "--launch", "4"), "A has no launch 4; it holds 1"),
        ((broken, broken, "--tensor", "z"), "no tensor 'z'; the launches have x_ptr, out_ptr"),
        ((broken, broken, "--csv", "ops"), "expected heat, tensors or launches of two runs"),
    ):  # fmt: skip
        done = view("--compare", *words, *(() if "--csv" in words else ("--csv", "heat")),
                    check=False)  # fmt: skip
        assert done.returncode == 2 and said in done.stderr, done.stderr


ACCENT = (86, 164, 255)


def test_the_tour_draws_its_steps(viewer, tmp_path):
    """The trace is recorded once, from an example, and kept in the user's cache."""
    cache = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    kept = tmp_path / "cache" / "blockscope" / "tour.h5"
    done = subprocess.run([viewer, "--tour", "--png", tmp_path / "a.png"], capture_output=True,
                          text=True, timeout=60, env=cache)  # fmt: skip
    assert done.returncode == 2 and done.stderr == (
        "blockscope view: the trace of the tour is not there yet: blockscope view --tour records "
        "it\n"
    )
    done = command("view", "--tour", "--png", tmp_path / "1.png", env=cache)
    assert done.returncode == 0 and not done.stdout, done.stderr
    assert kept.stat().st_size < 500_000
    recorded = kept.stat().st_mtime_ns
    assert command("view", "--tour", "--csv", "findings", env=cache).stdout.count("oob-load") == 1
    assert kept.stat().st_mtime_ns == recorded
    framed = {}
    for step in range(1, 10):
        subprocess.run([viewer, "--tour", "--step", str(step), "--png", tmp_path / f"{step}.png"],
                       check=True, timeout=60, env=cache)  # fmt: skip
        rows, columns = np.nonzero(mask_of(picture(tmp_path / f"{step}.png"), ACCENT))
        assert rows.size > 1000
        framed[step] = (rows.min(), columns.min(), rows.max(), columns.max())
    assert framed[1][2] < 300 and framed[2][2] > 900  # the header; the heat map
    assert framed[4][1] < 20 and framed[6][3] > 1580  # programs at the left; source at the right
    kept.with_suffix(".key").write_text("another version")
    assert command("view", "--tour", "--png", tmp_path / "a.png", env=cache).returncode == 0
    assert kept.stat().st_mtime_ns != recorded


def test_what_the_tour_cannot_do_is_one_line(viewer, broken, tmp_path):
    cache = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for words, said in (
        (("--tour", "--step", "10"), "'--step' is '10', expected a step of the tour, from 1 to 9"),
        (("--tour", broken), "--tour has a trace of its own, found"),
        ((broken, "--step", "2"), "--step is for --tour"),
        (("--tour", "--op", "1"), "'--op' chooses in a trace, but the tour chooses by itself"),
    ):
        done = command("view", *words, "--png", tmp_path / "never.png", env=cache)
        assert done.returncode == 2 and said in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_the_tour_needs_no_place_to_keep_its_trace(viewer, tmp_path):
    (tmp_path / "file").write_text("no folder")
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "file")}
    done = command("view", "--tour", "--png", tmp_path / "a.png", env=variables)
    assert done.returncode == 0, done.stderr
    assert mask_of(picture(tmp_path / "a.png"), ACCENT).sum() > 1000
