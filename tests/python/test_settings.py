"""The environment variables of Blockscope's own: one table, read by C++, Python and the docs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from blockscope import _core, knobs, settings

ROOT = Path(__file__).parents[2]
FLAGS = [name for name, info in settings.TABLE.items() if info.expected == "0 or 1"]
BAD = [
    ("BLOCKSCOPE_THREADS", "many", "a whole number from 0 to 1024"),
    ("BLOCKSCOPE_THREADS", "-1", "a whole number from 0 to 1024"),
    ("BLOCKSCOPE_THREADS", "1025", "a whole number from 0 to 1024"),
    ("BLOCKSCOPE_CACHE_MB", "2.5", "a whole number from 0 to 1073741824"),
    ("BLOCKSCOPE_PTXAS_SECONDS", "soon", "a whole number from 0 to 1073741824"),
    ("BLOCKSCOPE_ISA", "sse", "one of baseline, avx2, avx512"),
    ("BLOCKSCOPE_PROGRAM", "first", "x,y,z as in 3,0,0"),
    ("BLOCKSCOPE_PROGRAM", "1,2", "x,y,z as in 3,0,0"),
    ("BLOCKSCOPE_PROGRAM", "1,2,3,4", "x,y,z as in 3,0,0"),
    ("BLOCKSCOPE_VIEWER", "/no/such/program", "the path of a program"),
    ("BLOCKSCOPE_VIEWER", "/tmp", "the path of a program"),
    *((name, "maybe", "0 or 1") for name in FLAGS),
]


def run(arguments, **variables):
    return subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **variables}, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip


def message(variable, text, expected):
    return f"environment variable {variable} is '{text}', expected {expected}"


def test_the_list_is_whole():
    named = {name for name, _, _ in BAD}
    without_bad_values = {"BLOCKSCOPE_GPU_PIPELINE"}  # MLIR judges it
    assert len(FLAGS) >= 6 and named == set(settings.TABLE) - without_bad_values


@pytest.mark.parametrize("variable, text, expected", BAD)
def test_a_bad_value_is_one_error(variable, text, expected, monkeypatch):
    monkeypatch.setenv(variable, text)
    with pytest.raises(ValueError) as error:
        settings.read(variable)
    assert str(error.value) == message(variable, text, expected)


@pytest.mark.parametrize(
    "statement",
    [
        "import blockscope.language",
        "import blockscope; blockscope.jit",
        "import blockscope.knobs",
        "import triton.language",
        "import triton; triton.jit",
    ],
)
def test_importing_refuses_it(statement):
    done = run(["-c", statement], BLOCKSCOPE_THREADS="many", BLOCKSCOPE_AS_TRITON="1")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: " + message(*BAD[0])


@pytest.mark.parametrize("command", [["doctor"], ["explain", "oob-read"], ["view", "x.h5"]])
def test_commands_refuse_it(command):
    done = run(["-m", "blockscope", *command], BLOCKSCOPE_THREADS="many")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"blockscope: {message(*BAD[0])}\n"


@pytest.mark.parametrize(
    "variable, text, value",
    [
        ("BLOCKSCOPE_THREADS", "", 0),
        ("BLOCKSCOPE_THREADS", " 4 ", 4),
        ("BLOCKSCOPE_CACHE_MB", "", 2048),
        ("BLOCKSCOPE_CACHE", "", True),
        ("BLOCKSCOPE_CACHE", "Off", False),
        ("BLOCKSCOPE_SYNC", "yes", True),
        ("BLOCKSCOPE_ISA", "", ""),
        ("BLOCKSCOPE_ISA", "avx2", "avx2"),
        ("BLOCKSCOPE_PROGRAM", "3,0,1", "3,0,1"),
        ("BLOCKSCOPE_VIEWER", sys.executable, sys.executable),
        ("BLOCKSCOPE_GPU_PIPELINE", "cse", "cse"),
    ],
)
def test_good_values(variable, text, value, monkeypatch):
    monkeypatch.setenv(variable, text)
    read = settings.read(variable)
    assert (read, type(read)) == (value, type(value))


def test_knobs_take_what_the_variable_may_be(monkeypatch):
    monkeypatch.delenv("BLOCKSCOPE_THREADS", raising=False)
    with knobs.cpu.scope():
        assert knobs.cpu.num_threads == 0
        knobs.cpu.num_threads = 3
        assert os.environ["BLOCKSCOPE_THREADS"] == "3"
        with pytest.raises(ValueError, match="BLOCKSCOPE_THREADS is '-3', expected a whole"):
            knobs.cpu.num_threads = -3
        assert knobs.cpu.num_threads == 3
        knobs.cpu.num_threads = knobs.env
        assert knobs.cpu.num_threads == 3  # of the environment
    assert knobs.cpu.num_threads == 0


# -- one table ----------------------------------------------------------------------------------


def test_the_page_has_the_table():
    rows = [
        f"| `{info.variable}` | {info.default or '-'} | {info.expected} | {info.help} |"
        for info in _core.settings()
    ]
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8").splitlines()
    start = page.index("|---|---|---|---|") + 1
    assert page[start : start + len(rows) + 1] == [*rows, ""]


def test_the_sources_name_no_other_variable():
    named = {}
    for folder in ("core", "interpreter", "sanitizer", "gpu_backend", "viz", "python"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".cpp", ".h", ".py"):
                for name in re.findall(r"\bBLOCKSCOPE_[A-Z_]*[A-Z]\b", file.read_text("utf-8")):
                    named.setdefault(name, file)
    assert len(named) > 8
    assert {name: file for name, file in named.items() if name not in settings.TABLE} == {}


def test_only_the_table_asks_the_environment_in_cpp():
    for folder in ("core", "interpreter", "sanitizer", "gpu_backend", "viz", "python/src"):
        for file in (ROOT / folder).rglob("*.cpp"):
            assert 'getenv("BLOCKSCOPE' not in file.read_text("utf-8"), file


def test_an_unknown_variable_is_a_warning():
    done = run(["-c", "import blockscope.knobs"], BLOCKSCOPE_THREDS="3", BLOCKSCOPE_XYZ="1")
    said = "environment variable BLOCKSCOPE_THREDS is not known; did you mean BLOCKSCOPE_THREADS?"
    assert done.returncode == 0
    assert done.stderr.count(f"<string>:1: RuntimeWarning: {said}") == 1
    assert done.stderr.count("BLOCKSCOPE_XYZ is not known; docs/settings.md has") == 1


def test_commands_warn_of_an_unknown_variable():
    done = run(["-m", "blockscope", "explain", "oob-load"], BLOCKSCOPE_THREDS="3")
    said = "environment variable BLOCKSCOPE_THREDS is not known; did you mean BLOCKSCOPE_THREADS?"
    assert (done.returncode, done.stderr) == (0, f"blockscope: warning: {said}\n")
    lines = run(["-m", "blockscope", "doctor"], BLOCKSCOPE_THREDS="3").stdout.splitlines()
    assert [line for line in lines if "THREDS" in line] == [f"wrong setting  {said}"]
