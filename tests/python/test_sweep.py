"""``blockscope sweep``: what varies with a number, the grid, charts, causes, files of results."""

import json
import subprocess
import sys

import pytest
from blockscope.cli.arguments import blockscope_parser
from blockscope.cli.sweep import request_of
from blockscope.cli.usage import UsageError
from blockscope.sweep import axes
from blockscope.sweep.axes import Axis
from blockscope.sweep.causes import causes_of, where
from blockscope.sweep.chart import charts, text_of
from blockscope.sweep.formula import Formula
from blockscope.sweep.result import Result

torch = pytest.importorskip("torch")

KERNELS_ALONE = """
import triton, triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i)
    tl.store(out + i, a + b, mask=i < n)

@triton.jit
def rows(out, x, stride, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * stride + i, mask=i < n)
    tl.store(out + tl.program_id(0) * stride + i, row, mask=i < n)

@triton.jit
def matmul(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0) // tl.cdiv(N, BN)
    pn = tl.program_id(0) % tl.cdiv(N, BN)
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = (rm[:, None] < M) & (k + rk[None, :] < K)
        right = (k + rk[:, None] < K) & (rn[None, :] < N)
        acc += tl.dot(tl.load(a + rm[:, None] * sam + k + rk[None, :], mask=left, other=0.0),
                      tl.load(b + (k + rk)[:, None] * sbk + rn[None, :], mask=right, other=0.0))
    tl.store(c + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))
"""
KERNELS = KERNELS_ALONE + "import torch\n"
LAUNCHES = """
n = 1024
x, y, out = torch.rand(n), torch.rand(n), torch.zeros(n)
add[(8,)](x, y, out, n, BLOCK=128)
x = torch.rand(20, 90)
rows[(20,)](torch.zeros_like(x), x, x.stride(0), 90, BLOCK=128)
a, b, c = torch.rand(100, 64), torch.rand(64, 80), torch.zeros(100, 80)
matmul[(12,)](a, b, c, 100, 80, 64, 64, 80, 80, BM=32, BN=32, BK=32)
a, b, c = torch.rand(64, 64), torch.rand(64, 64), torch.zeros(64, 64)
matmul[(4,)](a, b, c, 64, 64, 64, 64, 64, 64, BM=32, BN=32, BK=32)
t = torch.rand(8, 40)
add[(5,)](t, t, torch.zeros_like(t), 320, BLOCK=64)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep")
    (path / "script.py").write_text(KERNELS + LAUNCHES)
    (path / "cases.py").write_text(
        KERNELS_ALONE
        + """
import numpy

def run(n, BLOCK, dtype="float32"):
    x = numpy.zeros(n, dtype)
    add[(triton.cdiv(n, BLOCK),)](x, x, x, n, BLOCK)

def points():
    for n in (64, 100):
        yield {"n": n, "of": "run"}, lambda n=n: run(n, 64)

def fails(n):
    if n == 3:
        raise KeyError("three")

def quick(n):
    pass

def wrong():
    yield 1

def grid_of_points():
    for n in (64, 128):
        for dtype in ("float16", "float32"):
            yield {"n": n, "dtype": dtype}, lambda n=n, dtype=dtype: run(n, 64, dtype)

def twice():
    yield {"n": 64}, lambda: run(64, 64)
    yield {"n": 64}, lambda: run(64, 32)

def no_points():
    yield from ()

def needs(sizes):
    yield {"n": 1}, lambda: run(1, 64)

def raises():
    raise KeyError("here")
    yield

def leaves(n):
    raise SystemExit(3)

def sleeps(n):
    import time
    time.sleep(0.2)

def pair(n, m=1):
    run(64 * n * m, 64)

if __name__ == "__main__":
    raise SystemExit("it is imported")
"""
    )
    done = command(path, "record", "script.py")
    assert done.returncode == 0, done.stderr
    return path


def command(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "blockscope", *map(str, words)],
        capture_output=True, text=True, cwd=folder, timeout=200,
    )  # fmt: skip


def sweep(folder, *words, output):
    done = command(folder, "sweep", "--format", "json", "-o", output, *words)
    return done, json.loads(done.stdout) if done.stdout else None


def planned(folder, path, *words):
    """The plan that a command makes, in this process."""
    options = blockscope_parser("sweep").parse_args(["sweep", str(folder / path), *map(str, words)])
    return request_of(options, ["asan"], {}).plan()


def points_in(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row["point"] for row in rows if "point" in row]


def bad(results):
    return [result["point"] for result in results if result["state"] == "found"]


# -- a launch file ---------------------------------------------------------------------------------


def test_tensors_follow_their_size_and_the_grid_follows_too(folder):
    done, results = sweep(
        folder, "run.blk", "--launch", 0, "--vary", "n=1..300:13,BLOCK=32,64", output="a.jsonl"
    )
    assert done.returncode == 66, done.stderr
    assert len(results) == 48
    # 'y' is loaded without a mask: it is wrong wherever the last block is not full
    for result in results:
        n, block = result["point"]["n"], result["point"]["BLOCK"]
        assert (result["state"] == "found") == (n % block != 0), result
        for finding in result["findings"]:
            assert finding["code"] == "oob-load"
            assert finding["tensor_shape"] == [n]
            assert finding["grid"] == [-(-n // block), 1, 1]


def test_a_stride_that_is_the_same_number_follows(folder):
    # Rows of other lengths are right only if the stride follows.
    done, results = sweep(
        folder, "run.blk", "--launch", 1, "--vary", "n=10..120:10", "--checks", "all",
        output="b.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert [result["state"] for result in results] == ["passed"] * 12


def test_formulas_and_sizes_by_their_place(folder):
    done, results = sweep(
        folder, "run.blk", "--launch", 1, "--vary", "x.shape[0]=out.shape[0]=1..5", "--set",
        "BLOCK=next_power_of_2(n)", "--grid", "x.shape[0]", output="c.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(results) == 5
    done, results = sweep(  # one tensor only: programs leave the other one
        folder, "run.blk", "--launch", 1, "--vary", "x.shape[0]=18..22", "--grid", "out.shape[0]",
        output="d.jsonl",
    )  # fmt: skip
    assert [point["x.shape[0]"] for point in bad(results)] == [18, 19]


def test_an_argument_that_counts_all_elements(folder):
    done, results = sweep(
        folder, "run.blk", "--launch", 4, "--vary", "n=64,100,320,640", output="e.jsonl"
    )
    assert [point["n"] for point in bad(results)] == [100], done.stderr


def test_dtypes_vary(folder):
    done, results = sweep(
        folder, "run.blk", "--launch", 2, "--vary", "a.dtype=b.dtype=fp16,bf16,fp32", "--checks",
        "all", output="f.jsonl",
    )  # fmt: skip
    assert [result["state"] for result in results] == ["passed"] * 3, done.stderr


def test_names_say_which_formula_the_grid_has(folder):
    done = command(folder, "sweep", "run.blk", "--launch", 2, "--vary", "N=16..96:16", "-o", "g")
    assert done.returncode == 0, done.stderr
    assert "the grid of launch 2 is (cdiv(M, BM) * cdiv(N, BN))" in done.stdout
    assert "6 points (N): 6 passed" in done.stdout


@pytest.mark.parametrize(
    "words, said",
    [
        (["--launch", 3, "--vary", "K=16,32"], "'K' was 64, and 'a' is [64x64]: it is not known"),
        (["--launch", 3, "--vary", "K=16", "--fixed-sizes"], "the grid was (4, 1, 1), and 4 may"),
        (["--launch", 0, "--vary", "m=1"], "'add' has no argument 'm', it has x, y, out, n"),
        (["--launch", 0, "--vary", "x=1"], "'x' is a tensor; x.shape[0] and x.dtype vary"),
        (["--launch", 0, "--vary", "x.shape[1]=1"], "'x' has 1 dimensions"),
        (["--launch", 0, "--vary", "n=1..x"], "'1..x' is no value"),
        (["--launch", 0, "--vary", "n=9..1"], "the range '9..1' is empty"),
        (["--launch", 0, "--vary", "n=0..9:x2"], "never ends"),
        (["--launch", 0, "--vary", "n=1,n=2"], "'n' is varied twice"),
        (["--launch", 0, "--vary", "5"], "'5' names no value or no argument"),
        (["--launch", 0, "--vary", "n="], "has no value, expected one as in"),
        (["--launch", 0, "--vary", "n=1", "--grid", "n"], "the grid 'n' is (1024, 1, 1) for the"),
        (["--launch", 0, "--vary", "n=1", "--grid", "open('x')"], "is not understood"),
        (["--launch", 0, "--vary", "n=1", "--set", "BLOCK"], "--set BLOCK has no formula"),
        (["--launch", 0, "--vary", "n=1", "--grid", "m"], "has no argument 'm', it has x, y, out"),
        (["--launch", 0, "--vary", "n=1", "--keep", "q"], "'q' is no argument"),
        (
            ["--launch", 0, "--vary", "n=1", "--keep", "x"],
            "'x' is a tensor, and what stays",
        ),
        (["--launch", 0, "--vary", "x.dtype=fp99"], "'fp99' is no dtype"),
        (["--launch", 9], "has no launch 9"),
        (["--grid", "4"], "are for sweeps that vary something"),
        (["--launch", 0, "--vary", "n=1..9999999,BLOCK=1..99"], "values"),
    ],
)
def test_what_cannot_be_is_said(folder, words, said):
    with pytest.raises((UsageError, ValueError)) as caught:
        planned(folder, "run.blk", *words)
    assert said in str(caught.value)


def test_the_grid_that_is_proposed_can_be_given(folder):
    (folder / "square.py").write_text(
        KERNELS + "\na, b, c = torch.rand(100, 80), torch.rand(80, 64), torch.zeros(100, 64)\n"
        "matmul[(4, 2)](a, b, c, 100, 64, 80, 80, 64, 64, BM=32, BN=32, BK=20)\n"
    )
    command(folder, "record", "-o", "square.blk", "square.py")
    words = ["sweep", "square.blk", "--vary", "M=65..70", "-o", "square.jsonl"]
    done = command(folder, *words)
    assert done.returncode == 2 and "say which, as in --grid '" in done.stderr, done.stderr
    proposed = done.stderr.partition("--grid '")[2].partition("'")[0]
    assert "M" in proposed, done.stderr
    assert command(folder, *words, "--grid", proposed).returncode != 2


def test_wrong_use_ends_with_a_line(folder):
    done = command(folder, "sweep", "run.blk", "--launch", 0, "--vary", "m=1")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "'add' has no argument 'm'" in done.stderr


def test_every_launch_as_it_is(folder):
    done, results = sweep(folder, "run.blk", output="h.jsonl")
    assert done.returncode == 0, done.stderr
    assert [result["point"] for result in results] == [{"launch": n} for n in range(5)]


# -- functions ------------------------------------------------------------------------------------


def test_a_function_is_called_with_the_values(folder):
    done, results = sweep(
        folder, "cases.py:run", "--vary", "n=60..70,BLOCK=16,32,dtype=float16,float32",
        output="i.jsonl",
    )  # fmt: skip
    assert done.returncode == 66, done.stderr
    assert len(results) == 44
    assert {p["n"] for p in bad(results)} == set(range(60, 71)) - {64}


def test_a_generator_yields_points(folder):
    _, results = sweep(folder, "cases.py:points", output="j.jsonl")
    assert bad(results) == [{"n": 100, "of": "run"}]


def test_errors_of_launches_are_results(folder):
    done, results = sweep(folder, "cases.py:fails", "--vary", "n=1..4", output="k.jsonl")
    assert done.returncode == 1
    assert [result["failure"] for result in results] == ["", "", "KeyError: 'three'", ""]


def test_points_of_a_generator_are_picked(folder):
    words = ["cases.py:grid_of_points"]
    _, results = sweep(folder, *words, "--vary", "n=64,128,dtype=float16", output="picked.jsonl")
    assert [r["point"] for r in results] == [
        {"n": 64, "dtype": "float16"}, {"n": 128, "dtype": "float16"}
    ]  # fmt: skip
    done, results = sweep(folder, *words, output="picked.jsonl")
    assert len(results) == 4 and "2 of 4 points are in" in done.stderr


def test_a_script_that_leaves_ends_its_point_only(folder):
    done, results = sweep(folder, "cases.py:leaves", "--vary", "n=1,2", output="leaves.jsonl")
    assert done.returncode == 1
    assert [result["failure"] for result in results] == ["SystemExit: 3"] * 2


def test_points_that_launch_nothing_are_counted(folder):
    done = command(folder, "sweep", "cases.py:quick", "--vary", "n=1,2", "-o", "idle.jsonl")
    assert "2 points launched no kernel" in done.stdout


@pytest.mark.parametrize("name", ["raises", "broken"])
def test_an_error_of_the_script_shows_its_lines_only(folder, name):
    (folder / "broken.py").write_text("def broken(:\n")
    file = "broken.py" if name == "broken" else "cases.py"
    done = command(folder, "sweep", f"{file}:{name}")
    assert done.returncode == 1 and file in done.stderr
    assert "plan.py" not in done.stderr and "importlib" not in done.stderr, done.stderr


def test_parameters_that_vary_together_are_another_point(folder):
    _, one = sweep(folder, "cases.py:pair", "--vary", "n=2", output="pair.jsonl")
    done, _ = sweep(folder, "cases.py:pair", "--vary", "n=m=2", output="pair.jsonl")
    assert done.returncode == 2 and "has results of another sweep" in done.stderr


@pytest.mark.parametrize(
    "words, said",
    [
        (["cases.py:nothing"], "has no function 'nothing', its functions are run, points"),
        (["cases.py:add"], "has 'add', which is a kernel, expected a function that makes"),
        (["cases.py:numpy"], "which is of type module, expected a function"),
        (["cases.py:run", "--vary", "m=1"], "'run' cannot be called so"),
        (["cases.py:wrong"], "'wrong' yields int, expected pairs"),
        (["cases.py:run", "--vary", "m=1"], "it takes n, BLOCK, dtype='float32'"),
        (["cases.py:run", "--vary", "n=1,BLOCK=1", "--launch", "0"], "are for launch files"),
        (["cases.py:grid_of_points", "--vary", "n=1"], "n is 64, 128"),
        (["cases.py:grid_of_points", "--vary", "m=1"], "no parameter 'm', it has n, dtype"),
        (["cases.py:twice"], "yields the point n=64 twice"),
        (["cases.py:no_points"], "yields no points"),
        (["cases.py:needs"], "called without arguments"),
        (["cases.py"], "expected one such as run.blk, or a function"),
        (["none.py:run"], "there is no file"),
    ],
)
def test_functions_that_cannot_be_called(folder, words, said):
    with pytest.raises((UsageError, ValueError)) as caught:
        planned(folder, *words)
    assert said in str(caught.value)


# -- results that are kept ------------------------------------------------------------------------


def test_a_sweep_goes_on_where_it_was(folder):
    words = ["sweep", "run.blk", "--launch", "0", "--vary", "n=1..128", "-o", "kept.jsonl"]
    done = command(folder, *words, "--limit", "40")
    assert "40 of 128 points" in done.stdout
    assert "88 points were not run; the same command goes on with them" in done.stderr
    whole = (folder / "kept.jsonl").read_bytes()
    (folder / "kept.jsonl").write_bytes(whole + b'{"index": 3, "poi')  # it was being written
    done = command(folder, *words)
    assert "40 of 128 points are in kept.jsonl already" in done.stderr
    assert "128 points (n): 1 passed, 127 with findings; 88 in" in done.stdout
    assert (folder / "kept.jsonl").read_bytes().startswith(whole)
    # Other values of the same parameters are the same sweep.
    words[5] = "n=100..130"
    assert "29 of 31 points are in kept.jsonl already" in command(folder, *words).stderr
    # Other checks are another one.
    done = command(folder, *words, "--checks", "tsan")
    assert done.returncode == 2 and "has results of another sweep" in done.stderr


def test_points_that_took_too_long_are_run_again_with_more_time(folder):
    words = ["sweep", "cases.py:sleeps", "--vary", "n=1..2", "-o", "late.jsonl"]
    assert "2 took too long" in command(folder, *words, "--point-seconds", "0.05").stdout
    done = command(folder, *words, "--point-seconds", "0.05")
    assert "2 of 2 points are in late.jsonl already" in done.stderr
    done = command(folder, *words)
    assert done.returncode == 0 and "2 passed; 2 in" in done.stdout, done.stdout


def test_again_runs_all_points_again(folder):
    words = ["sweep", "cases.py:quick", "--vary", "n=1..3", "-o", "again.jsonl"]
    command(folder, *words)
    assert "3 of 3 points are in again.jsonl already (--again" in command(folder, *words).stderr
    assert "; 3 in" in command(folder, *words, "--again").stdout
    assert len(points_in(folder / "again.jsonl")) == 3
    # Also in place of another sweep's, but of no other file.
    words[3] = "n=4"
    assert "1 point" in command(folder, *words, "--checks", "nan", "--again").stdout


def changing(folder):
    """A script whose kernel is imported from elsewhere when a point runs, and a launch file."""
    (folder / "elsewhere").mkdir(exist_ok=True)
    (folder / "elsewhere/late.py").write_text(KERNELS_ALONE)
    (folder / "changing.py").write_text(
        "import sys, numpy\n"
        "def run(n):\n"
        f"    sys.path.insert(0, {str(folder / 'elsewhere')!r})\n"
        "    from late import add\n"
        "    x = numpy.zeros(n, numpy.float32)\n"
        "    add[(1,)](x, x, x, n, BLOCK=64)\n"
    )
    (folder / "changing.blk").write_bytes((folder / "run.blk").read_bytes())


@pytest.mark.parametrize(
    "words, changed, named",
    [
        (["changing.py:run", "--vary", "n=64"], "changing.py", "'changing.py'"),
        (["changing.py:run", "--vary", "n=64"], "elsewhere/late.py", "'elsewhere/late.py'"),
        (["changing.blk", "--launch", "1"], "changing.blk", "the launch file"),
    ],
)
def test_results_of_other_sources_are_not_taken(folder, words, changed, named):
    changing(folder)
    words = ["sweep", *words, "-o", "changed.jsonl"]
    assert command(folder, *words, "--again").returncode == 0
    assert "1 of 1 points" in command(folder, *words).stderr
    if changed.endswith(".py"):
        (folder / changed).write_text((folder / changed).read_text() + "\n# another\n")
    else:
        done = command(folder, "record", "-o", changed, "script.py")
        assert done.returncode == 0
    done = command(folder, *words)
    assert done.returncode == 2, done.stderr
    assert f"has results from before {named} changed; --again runs" in done.stderr
    assert "; 1 in" in command(folder, *words, "--again").stdout


@pytest.mark.parametrize("again", [[], ["--again"]])
@pytest.mark.parametrize("text", ["my notes", "my notes\n", "[1]\n"])
def test_a_file_of_somebody_else_stays_as_it_is(folder, text, again):
    (folder / "notes").write_text(text)
    done = command(folder, "sweep", "run.blk", "-o", "notes", *again)
    assert done.returncode == 2 and "is no file of results" in done.stderr
    assert (folder / "notes").read_text() == text


@pytest.mark.parametrize(
    "text, said",
    [
        ("hello\n", "is no file of results"),
        ("[1]\n", "is there already, and is no file of results"),
        ('{"format": "blockscope-sweep", "version": 1}\n', "has version 1, expected 2; --again"),
    ],
)
def test_other_files_stay_as_they_are(folder, text, said):
    (folder / "other").write_text(text)
    done = command(folder, "sweep", "run.blk", "-o", "other")
    assert done.returncode == 2 and said in done.stderr
    assert (folder / "other").read_text() == text


def test_a_budget_of_time(folder):
    done = command(folder, "sweep", "cases.py:quick", "--vary", "n=1..100000", "--seconds", "2",
                    "-o", "budget.jsonl")  # fmt: skip
    assert "of 100000 points" in done.stdout and "points were not run" in done.stderr
    assert points_in(folder / "budget.jsonl")


def test_a_budget_of_points_is_spread_over_all(folder):
    command(folder, "sweep", "cases.py:quick", "--vary", "n=1..100000", "--limit", "5",
            "-o", "limit.jsonl")  # fmt: skip
    points = points_in(folder / "limit.jsonl")
    assert len(points) == 5 and max(point["n"] for point in points) > 50_000


def test_the_page_has_the_chart_and_the_finding(folder):
    done = command(folder, "sweep", "run.blk", "--launch", "0", "--vary", "n=1..64,BLOCK=16,32",
                   "--html", "page.html", "-o", "page.jsonl")  # fmt: skip
    assert done.returncode == 66, done.stderr
    page = (folder / "page.html").read_text()
    assert page.count('<td class="bad"') == 128 - 4 - 2
    assert page.count('<td class="ok"') == 4 + 2
    assert "where n is not divisible by BLOCK" in page and "oob-load" in page


# -- parts ----------------------------------------------------------------------------------------


def test_values_are_read():
    found = axes.parse(["n=1..9:4,B=1..20:x4,f=1.5,-2,x=true,none,fp16", "a=b=3"])
    assert found == [
        Axis(("n",), (1, 5, 9)),
        Axis(("B",), (1, 4, 16)),
        Axis(("f",), (1.5, -2)),
        Axis(("x",), (True, None, "fp16")),
        Axis(("a", "b"), (3,)),
    ]
    assert axes.parse(["n=1,True,1.0,1"])[0].values == (1, True, 1.0)
    assert [type(v) for v in axes.parse(["n=1,True,1.0"])[0].values] == [int, bool, float]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 100, 129])
def test_the_order_has_every_point_once(count):
    order = list(axes.spread(count))
    assert sorted(order) == list(range(count))
    if count > 8:
        assert max(order[: count // 4]) > count * 3 // 4


@pytest.mark.parametrize(
    "text, value",
    [
        ("cdiv(n, 4) * b", 9),
        ("lambda meta: (triton.cdiv(n, meta['b']), 2)", [4, 2]),
        ("min(n, 3) - -1", 4),
        ("next_power_of_2(n) // 3 % 4", 1),
        ("x.shape[0]", 7),
    ],
)
def test_formulas(text, value):
    names = {"n": 10, "b": 3, "x.shape[0]": 7}
    found = Formula(text).values(names.__getitem__)
    assert found == (value if isinstance(value, list) else [value])


@pytest.mark.parametrize("text", ["", "n.x", "f(n)", "n ** 9", "[n for n in n]", "1.5", "n if n"])
def test_what_is_no_formula(text):
    with pytest.raises(ValueError):
        Formula(text)
    with pytest.raises(ValueError, match="has no value"):
        Formula("n // 0").value(lambda name: 1)


def made(points, is_bad):
    found = []
    for index, point in enumerate(points):
        finding = {"code": "oob-load", "file": "k.py", "line": 3, "severity": "error"}
        state = "found" if is_bad(**point) else "passed"
        found.append(Result(index, point, state, [finding] if state == "found" else []))
    return found


@pytest.mark.parametrize(
    "is_bad, said",
    [
        (lambda n, b: True, "all that were launched"),
        (lambda n, b: n >= 40, "where n >= 40"),
        (lambda n, b: n <= 7 and b == 4, "where n <= 7 and b = 4"),
        (lambda n, b: b == 4, "where b = 4"),
        (lambda n, b: n % b, "where n is not divisible by b"),
        (lambda n, b: n % 4, "where n is not divisible by 4"),
        (lambda n, b: 10 <= n < 20, "where n is 10 to 19"),
        (lambda n, b: n > b, "where n > b"),
        (lambda n, b: n * b == 40 or n == 63, "of 192, all with n = 5, 10, 20, 63"),
    ],
)
def test_where_a_cause_is(is_bad, said):
    points = [{"n": n, "b": b} for n in range(64) for b in (2, 4, 8)]
    results = made(points, is_bad)
    (cause,) = causes_of(results)
    own = [Axis(("n",), tuple(range(64))), Axis(("b",), (2, 4, 8))]
    assert where(cause, own, results) == said


def test_points_that_could_not_be_launched_say_nothing_of_a_finding():
    points = [{"n": n, "b": b} for n in range(64) for b in (2, 3, 4)]
    results = made(points, lambda n, b: b != 3 and n % b)
    for result in results:
        if result.point["b"] == 3:
            result.state, result.failure = "failed", "no power of 2"
    found, failed = causes_of(results)
    own = [Axis(("n",), tuple(range(64))), Axis(("b",), (2, 3, 4))]
    assert where(found, own, results) == "where n is not divisible by b"
    assert where(failed, own, results) == "where b = 3"
    assert (found.letter, failed.letter) == ("A", "a")


def test_the_chart_has_every_point():
    own = [Axis(("b",), (2, 4)), Axis(("n",), tuple(range(8)))]
    results = made([{"b": b, "n": n} for b in (2, 4) for n in range(8)], lambda n, b: n % b)
    (chart,) = charts(own, results[:-1], causes_of(results[:-1]), 80)
    assert text_of(chart)[:2] == ["  b=2  .A.A.A.A", "  b=4  .AAA.AA "]
    (chart,) = charts(own, results, causes_of(results), 4)
    assert [cell.bad for cell in chart.rows[0][1]] == [1, 1, 1, 1]
    assert text_of(chart)[0] == "  b=2  AAAA"
