"""Comments that allow findings: # blockscope: allow CODE because REASON."""

import os
import re
import subprocess
import sys
from pathlib import Path

import blockscope
import pytest
from blockscope import allow_comments, checks
from blockscope import language as tl
from blockscope.errors import StoppedAtFirst

np = pytest.importorskip("numpy")
BIN = Path(sys.executable).parent


@blockscope.jit
def padded(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)  # blockscope: allow oob-load because the allocator pads to 64
    tl.store(out_ptr + offsets, x, mask=offsets < 48)


@blockscope.jit
def number(out_ptr):
    # blockscope: allow race-write-write, oob-store because any of them wins
    tl.store(
        out_ptr,
        tl.program_id(0),
    )


def launch(count=48):
    padded[(1,)](np.ones(count, np.float32), np.zeros(64, np.float32), BLOCK=64)


def race():
    number[(4,)](np.zeros(1, np.int32))


@pytest.mark.parametrize("step", [False, True])
def test_an_allowed_finding_is_no_finding(step):
    with blockscope.knobs.runtime.scope(), blockscope.check("asan,tsan") as report:
        blockscope.set_interpret_mode(step)
        launch()
        race()
    assert report.clean and not report and report.findings == [] and len(report) == 0
    assert report.error_count == 0
    report.raise_on_error()
    reasons = {each.code: each.allowed for each in report.allowed}
    assert reasons == {
        "oob-load": "the allocator pads to 64",
        "race-write-write": "any of them wins",
    }
    assert report.json().strip() == "[]"
    lines = report.text().splitlines()
    assert lines[0] == "no findings (asan, tsan)"
    assert re.fullmatch(
        r"allowed: \S*test_allow_comments.py:\d+:9: error\[oob-load\]: load of 4 bytes at byte 192 "
        r"of 'x_ptr', which has 192 bytes; because the allocator pads to 64",
        lines[1],
    )
    assert "any of them wins" in lines[2] and len(lines) == 4
    assert lines[3].endswith(
        "'# blockscope: allow oob-store' is not needed: no launch has this finding"
    )


def test_other_findings_stay():
    """Another code in the same line, and the same code in another line."""

    @blockscope.jit
    def wrong(x_ptr, out_ptr):
        x = tl.load(x_ptr + 9)  # blockscope: allow race-read-write because it says the wrong code
        y = tl.load(x_ptr + 8)  # blockscope: allow oob-load because this one is meant
        tl.store(out_ptr, x + y + tl.load(x_ptr + 10))

    with blockscope.check("asan,tsan") as report:
        wrong[(1,)](np.ones(8, np.float32), np.zeros(1, np.float32))
    assert [each.code for each in report] == ["oob-load", "oob-load"]
    assert report.error_count == 2 and len(report.allowed) == 1
    assert "2 errors, 0 warnings" in report.text()
    assert report.json().count('"code"') == 2
    assert "allow race-read-write' is not needed" in report.text()


def test_comments_of_kernels_that_did_not_run_are_not_named():
    with blockscope.check("asan,tsan") as report:
        launch(64)
    assert report.text().splitlines()[0] == "no findings (asan, tsan)"
    (said,) = report.said_of_comments()
    assert "'# blockscope: allow oob-load' is not needed" in said  # not that of `number`
    with blockscope.check("tsan") as report:
        race()
    assert len(report.comments()) == 2  # oob-store is in every check
    with blockscope.check("nan") as report:
        race()
    assert {key.split()[-1] for key in report.comments()} == {"oob-store'"}


def test_a_check_that_stops_at_its_first_error_allows_nothing():
    with blockscope.check("asan", stop_at_first=True) as report, pytest.raises(StoppedAtFirst):
        launch()
    assert report.error_count == 1 and report.allowed == []


def test_kernels_without_a_source_are_checked_as_before():
    scope = {"tl": tl}
    exec("def kernel(x_ptr):\n    tl.store(x_ptr + 8, 1.0)\n", scope)
    kernel = blockscope.jit(scope["kernel"])
    with blockscope.knobs.runtime.scope(), blockscope.check("asan") as report:
        blockscope.set_interpret_mode(True)
        kernel[(1,)](np.ones(8, np.float32))
    assert [each.code for each in report] == ["oob-store"] and report.said_of_comments() == []


# --- what is understood ---------------------------------------------------------------------------


def comments(tmp_path, text):
    file = tmp_path / "kernels.py"
    file.write_text(text)
    return allow_comments.comments_of(str(file))


def test_which_lines_a_comment_is_for(tmp_path):
    text = """
x = 1  # blockscope: allow oob-load because a
y = call(  # blockscope: allow oob-store because b
    1,
    2,  # blockscope: allow nan-born because c
)
# blockscope: allow deadlock because d
# another comment

if x:  # blockscope: allow false-hint because e
    z = "# blockscope: allow oob-load because it is a string"
"""
    found = [(each.codes[0], each.first, each.last) for each in comments(tmp_path, text)]
    assert found == [
        ("oob-load", 2, 2),
        ("oob-store", 3, 6),
        ("nan-born", 3, 6),
        ("deadlock", 10, 10),
        ("false-hint", 10, 10),
    ]


@pytest.mark.parametrize(
    "said, problem",
    [
        ("allow oob-load", "found 'allow oob-load', expected 'allow CODE because REASON'"),
        ("allow oob-load because", "found 'allow oob-load because', expected 'allow CODE because"),
        ("allow because it is so", "expected 'allow CODE because REASON'"),
        ("ignore oob-load", "found 'ignore oob-load', expected 'allow CODE because REASON'"),
        (
            "allow oob-laod because x",
            "'oob-laod' is no code of a finding; did you mean 'oob-load'?",
        ),
        (
            "allow oob-load, xyz because x",
            "'xyz' is no code of a finding; 'blockscope explain' lists",
        ),
    ],
)
def test_comments_that_are_not_understood_are_named(tmp_path, said, problem):
    (comment,) = comments(tmp_path, f"x = 1  # blockscope: {said}\n")
    assert problem in comment.problem
    assert allow_comments.reason_for(comment.file, 1, "oob-load") == ""


def test_files_that_are_no_python_allow_what_came_before(tmp_path):
    text = "x = 1  # blockscope: allow oob-load because a\ny = (\n"
    assert [each.reason for each in comments(tmp_path, text)] == ["a"]
    assert allow_comments.comments_of("<string>") == ()


# --- the commands, and pytest ---------------------------------------------------------------------

KERNELS = """
import numpy as np, triton, triton.language as tl

@triton.jit
def read(x_ptr, out_ptr):
    x = tl.load(x_ptr + 8)  # blockscope: allow oob-load because it is padded
    tl.store(out_ptr, x)  # blockscope: allow oob-stroe because of a typo
    tl.store(out_ptr + 1, x)  # blockscope: allow oob-store because it was needed once

def launch(n): read[(1,)](np.zeros(n, np.int32), np.zeros(2, np.int32))
"""


def run(folder, *words):
    variables = {
        k: v for k, v in os.environ.items() if not k.startswith(("BLOCKSCOPE_", "PYTEST_"))
    }
    return subprocess.run(
        [BIN / words[0], *words[1:]], cwd=folder, capture_output=True, text=True, timeout=240,
        env=variables | {"COLUMNS": "200"},
    )  # fmt: skip


def test_the_command(tmp_path):
    (tmp_path / "script.py").write_text(KERNELS + "launch(8)\n")
    done = run(tmp_path, "blockscope", "check", "script.py")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "no findings (asan, tsan)",
        "allowed: script.py:6:9: error[oob-load]: load of 4 bytes at byte 32 of 'x_ptr', which has "
        "32 bytes; because it is padded",
        "script.py:7: this comment allows nothing: 'oob-stroe' is no code of a finding; did you "
        "mean 'oob-store'?",
        "script.py:8: '# blockscope: allow oob-store' is not needed: no launch has this finding",
    ]
    done = run(tmp_path, "blockscope", "check", "--format", "github", "script.py")
    assert [line.partition("::script.py")[0] for line in done.stdout.splitlines()] == [
        "::warning title=blockscope",
        "::warning title=blockscope",
    ]
    done = run(tmp_path, "blockscope", "check", "--format", "sarif", "script.py")
    assert '"kind": "inSource"' in done.stdout and '"justification": "it is padded"' in done.stdout


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_pytest(tmp_path, words):
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "test_it.py").write_text(
        "from kernels import launch\ndef test_bad(): launch(8)\ndef test_good(): launch(9)\n"
    )
    checked = ("pytest", "-p", "no:cacheprovider", "--blockscope=asan", *words)
    done = run(tmp_path, *checked)
    assert done.returncode == 0, done.stdout
    said = done.stdout.partition("= Blockscope =")[2].splitlines()[1:5]
    assert said == [
        "checked 2 launches of 2 tests: asan",
        "passed with findings, which 'pytest -rP' shows: oob-load (1)",
        "kernels.py:7: this comment allows nothing: 'oob-stroe' is no code of a finding; did you "
        "mean 'oob-store'?",
        f"kernels.py:8: '# blockscope: allow oob-store'{checks.NOT_NEEDED}",
    ]
    for part in (["test_it.py"], ["-k", "bad"]):  # what another test needs is not known
        assert checks.NOT_NEEDED not in run(tmp_path, *checked, *part).stdout
    shown = run(tmp_path, *checked, "-rP").stdout
    assert "oob-load is allowed: it is padded" in shown
