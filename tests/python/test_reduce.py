"""``blockscope reduce``: failing launches of real size as files of a few lines.

BLK_REDUCE=all runs all of ``reduce_cases``; else a few of them run.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest
from blockscope.cli.arguments import EVERY, blockscope_parser, command_parser
from blockscope.cli.own_process import python_words
from reduce_cases import CASES, ROOT

pytest.importorskip("torch")
SOME = ("matmul", "infinity_half_sum", "row_stride_of_slice")
CHOSEN = [case for case in CASES if os.environ.get("BLK_REDUCE") == "all" or case.name in SOME]
GRID = re.compile(r"^\w+\[\(([\d, ]+)\)\]", re.MULTILINE)


def command(*words, cwd):
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, "-m", "blockscope", *map(str, words)],
        capture_output=True, text=True, cwd=cwd, timeout=280, env=environment,
    )  # fmt: skip


def record(case, folder):
    shutil.copy(ROOT / "examples" / "harness.py", folder)
    (folder / "script.py").write_text(case.source())
    done = command(
        "record", "--on-finding", "--checks", case.checks, "script.py", *case.arguments, cwd=folder
    )
    assert (folder / "run.blk").exists(), done.stderr
    (folder / "script.py").unlink()


def beside_the_kernel(text):
    """The lines of a small file that belong to no definition."""
    lines = [line for line in text.splitlines() if line.strip()]
    return [line for line in lines if not line.startswith((" ", "@", "def ", ")"))]


def test_there_are_ten_cases():
    assert len(CASES) >= 10 and len(CHOSEN) >= len(SOME)


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_a_launch_of_real_size_becomes_a_few_lines(case, tmp_path):
    record(case, tmp_path)
    done = command(
        "reduce", "run.blk", "--checks", case.checks, "--finding", case.code, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "small.py").read_text()
    assert len(beside_the_kernel(text)) < 15, text
    programs = 1
    for size in re.findall(r"\d+", GRID.findall(text)[-1]):
        programs *= int(size)
    assert programs <= 2, text
    (tmp_path / "run.blk").unlink()
    told = command("check", "--checks", case.checks, "small.py", cwd=tmp_path)
    assert f"[{case.code}]" in told.stderr, told.stderr
    marked = re.search(r"small\.py:(\d+):", told.stderr).group(1)
    if case.file.startswith("tests/kernels"):
        assert f"<-- {case.code}" in text.splitlines()[int(marked) - 1]


def test_a_right_launch_has_nothing_to_reduce(tmp_path):
    command("record", ROOT / "tests/kernels/mask_less_equal_good.py", cwd=tmp_path)
    done = command("reduce", "run.blk", cwd=tmp_path)
    assert done.returncode == 2
    assert "no launch of 'run.blk' has an error under the checks asan,tsan" in done.stderr
    assert not (tmp_path / "small.py").exists()


def test_a_finding_that_depends_on_a_launch_before_is_said_so(tmp_path):
    path = ROOT / "tests/kernels/undefined_scratch_bad.py"
    command("record", path, cwd=tmp_path)
    done = command("reduce", "run.blk", "--checks", "undefined", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "is not there when the launch runs alone" in done.stderr


BORN = """
import numpy, triton, triton.language as tl

@triton.jit
def divides(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) / tl.load(x + i))

@triton.jit
def unknown(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), y)
"""


@pytest.fixture
def born(tmp_path):
    """A folder with a launch file whose finding the checks of a plain run do not look for."""
    (tmp_path / "script.py").write_text(
        f"{BORN}\nx = numpy.zeros(8, numpy.float32)\ndivides[(1,)](x, x.copy(), BLOCK=8)\n"
    )
    return tmp_path


def test_what_is_recorded_under_checks_names_them(born):
    done = command("record", "--on-finding", "--checks", "nan", "script.py", cwd=born)
    shown = "blockscope check --checks nan run.blk"
    assert f"run it with: {shown}" in done.stderr
    assert command(*shown.split()[1:], cwd=born).returncode == 66


def test_a_finding_that_is_named_brings_its_check(born):
    command("record", "script.py", cwd=born)
    done = command("reduce", "--finding", "nan-born", "run.blk", cwd=born)
    assert done.returncode == 0 and "it shows nan-born with" in done.stderr, done.stderr


@pytest.mark.parametrize(
    "words, said",
    [
        (["--finding", "nanborn"], "'nanborn' is no code of a finding; did you mean 'nan-born'?"),
        (["-o", "no/x.py"], "'no/x.py' cannot be written: there is no folder"),
        (["-o", "x"], "'x' is no name of a Python file"),
    ],
)
def test_wrong_options_are_named_as_they_were_given(born, words, said):
    command("record", "script.py", cwd=born)
    done = command("reduce", "run.blk", *words, cwd=born)
    assert done.returncode == 2 and said in done.stderr


def test_only_its_own_files_are_replaced(born):
    command("record", "script.py", cwd=born)
    words = ["reduce", "--finding", "nan-born", "-o", "own.py", "run.blk"]
    own = born / "own.py"
    own.write_text("print('mine')\n")
    done = command(*words, cwd=born)
    assert done.returncode == 2 and "'own.py' is there, and not a file that reduce" in done.stderr
    assert own.read_text() == "print('mine')\n"
    own.unlink()
    assert [command(*words, cwd=born).returncode for _ in range(2)] == [0, 0]


def test_a_launch_that_fails_is_no_finding(born):
    (born / "fails.py").write_text(f"{BORN}\nunknown[(1,)](numpy.zeros(8), BLOCK=8)\n")
    command("record", "fails.py", cwd=born)
    done = command("reduce", "run.blk", cwd=born)
    assert "launch 0 ends with CompilationError, which is no finding" in done.stderr


@pytest.mark.parametrize("name", ["check", "trace", "record", "reduce", "sweep"])
def test_checks_are_there_for_the_command_and_for_completion(name):
    for asked in (name, EVERY):
        parser = command_parser(blockscope_parser(asked), name)
        assert "--checks" in parser._option_string_actions, asked


def test_modules_of_the_present_folder_do_not_take_the_place_of_pythons(tmp_path):
    (tmp_path / "argparse.py").write_text("raise SystemExit('taken')\n")
    words = python_words("import argparse; print(argparse.__file__)")
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and str(tmp_path) not in done.stdout, done.stderr


@pytest.mark.parametrize(
    "words, said",
    [
        (["--program", "9,0,0", "run.blk"], "a launch has no program 9,0,0"),
        (["nothing.py"], "no kernel was launched"),
    ],
)
def test_a_step_that_stops_nowhere_says_so(born, words, said):
    command("record", "script.py", cwd=born)
    (born / "nothing.py").write_text("")
    assert said in command("step", *words, cwd=born).stderr
