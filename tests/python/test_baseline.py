"""Findings that are known, in a file (--baseline), and severities of a project."""

import json
import os
import subprocess
import sys
from pathlib import Path

import blockscope
import pytest
from blockscope import baseline
from blockscope import language as tl
from blockscope.errors import StoppedAtFirst

np = pytest.importorskip("numpy")
BIN = Path(sys.executable).parent

KERNELS = """
import numpy as np, triton, triton.language as tl

@triton.jit
def read(x_ptr, out_ptr):
    x = tl.load(x_ptr + 8)
    tl.store(out_ptr, x)

@triton.jit
def number(out_ptr):
    tl.store(out_ptr, tl.program_id(0))

@triton.jit
def flag(out_ptr):
    tl.store(out_ptr, 1)

def launch_read(n=8): read[(1,)](np.zeros(n, np.float32), np.zeros(1, np.float32))
def launch_number(): number[(4,)](np.zeros(1, np.int32))
def launch_flag(): flag[(4,)](np.zeros(1, np.int32))
"""


def run(folder, *words, status=None):
    variables = {k: v for k, v in os.environ.items()
                 if not k.startswith(("BLOCKSCOPE_", "PYTEST_", "TRITON_"))}  # fmt: skip
    done = subprocess.run(
        [BIN / words[0], *map(str, words[1:])], cwd=folder, capture_output=True, text=True,
        timeout=240, env=variables | {"COLUMNS": "200"},
    )  # fmt: skip
    assert status is None or done.returncode == status, done.stdout + done.stderr
    return done


def check(folder, *words, status=None):
    return run(folder, "blockscope", "check", *words, status=status)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "kernels.py").write_text(KERNELS)
    (tmp_path / "src" / "old.py").write_text("import kernels\nkernels.launch_read()\n")
    (tmp_path / "src" / "both.py").write_text(
        "import kernels\nkernels.launch_read()\nkernels.launch_number()\n"
    )
    return tmp_path


def entries(file):
    return [(e.code, e.file, e.kernel, e.line) for e in baseline.read(file).entries]


# --- the command ----------------------------------------------------------------------------------


def test_known_findings_fail_nothing_and_new_ones_do(folder):
    done = check(folder, "--write-baseline", "known.toml", "src/old.py", status=0)
    assert done.stderr == "wrote known.toml: 1 entry, 1 new, 0 dropped\n"
    assert entries(folder / "known.toml") == [
        ("oob-load", "src/kernels.py", "read", "x = tl.load(x_ptr + 8)")
    ]
    done = check(folder, "--baseline", "known.toml", "src/old.py", status=0)
    assert done.stderr == "no new findings; 1 is in known.toml\n"
    done = check(folder / "src", "--baseline", "../known.toml", "both.py", status=66)
    assert "error[race-write-write]" in done.stderr and "oob-load" not in done.stderr
    assert done.stderr.endswith(f"\n1 error, 0 warnings; 1 more is in {folder}/known.toml\n")
    done = check(folder, "--baseline", "known.toml", "--format", "json", "src/both.py", status=66)
    assert [each["code"] for each in json.loads(done.stdout)] == ["race-write-write"]
    done = check(folder, "--baseline", "known.toml", "--format", "github", "src/both.py")
    assert done.stdout.count("::") == 2 and "race-write-write" in done.stdout
    done = check(folder, "--baseline", "known.toml", "--format", "sarif", "src/both.py")
    kinds = {each["ruleId"]: [s["kind"] for s in each.get("suppressions", ())]
             for each in json.loads(done.stdout)["runs"][0]["results"]}  # fmt: skip
    assert kinds == {"oob-load": ["external"], "race-write-write": []}


def test_entries_match_when_lines_move_but_not_another_line_or_kernel(folder):
    check(folder, "--write-baseline", "known.toml", "src/old.py", status=0)
    file = folder / "src" / "kernels.py"
    file.write_text("# a line\n\n" + KERNELS.replace("    x = tl", "      x = tl")
                    .replace("    tl.store(out_ptr, x)", "      tl.store(out_ptr, x)"))  # fmt: skip
    check(folder, "--baseline", "known.toml", "src/old.py", status=0)
    file.write_text(KERNELS.replace("x_ptr + 8", "x_ptr + 9"))
    done = check(folder, "--baseline", "known.toml", "src/old.py", status=66)
    gone = "known.toml:4: 'oob-load' of kernel 'read' at 'x = tl.load(x_ptr + 8)' in src/kernels.py"
    assert done.stderr.endswith(f"\n{gone} no longer occurs\n")
    file.write_text(KERNELS.replace("def read(", "def fetch(").replace("read[(1", "fetch[(1"))
    check(folder, "--baseline", "known.toml", "src/old.py", status=66)


def test_entries_that_no_longer_occur_are_named_where_this_can_be_told(folder):
    check(folder, "--write-baseline", "known.toml", "src/both.py", status=0)
    (folder / "src" / "good.py").write_text("import kernels\nkernels.launch_read(9)\n")
    done = check(folder, "--baseline", "known.toml", "src/good.py", status=0)
    assert done.stderr.splitlines()[0] == "no findings (asan, tsan)"
    (said,) = done.stderr.splitlines()[1:]  # 'number' was not launched
    assert "'oob-load' of kernel 'read'" in said and said.endswith(" no longer occurs")
    done = check(folder, "--checks", "nan", "--baseline", "known.toml", "src/both.py")
    assert "no longer occurs" not in done.stderr  # nobody looked for races
    (folder / "src" / "ends.py").write_text("import kernels\nkernels.launch_read(9)\nexit(3)\n")
    done = check(folder, "--baseline", "known.toml", "src/ends.py", status=3)
    assert "no longer occurs" not in done.stderr
    done = check(folder, "--write-baseline", "known.toml", "src/good.py", status=0)
    assert done.stderr == "wrote known.toml: 1 entry, 0 new, 1 dropped\n"
    assert [code for code, *_ in entries(folder / "known.toml")] == ["race-write-write"]


def test_reasons_and_entries_of_other_runs_stay(folder):
    check(folder, "--write-baseline", "known.toml", "src/old.py", status=0)
    text = (folder / "known.toml").read_text()
    (folder / "known.toml").write_text(text.rstrip("\n") + '\nreason = "it is \\"padded\\""\n')
    (folder / "src" / "new.py").write_text("import kernels\nkernels.launch_number()\n")
    done = check(folder, "--write-baseline", "known.toml", "src/new.py", status=0)
    assert done.stderr == "wrote known.toml: 2 entries, 1 new, 0 dropped\n"
    found = {e.code: e.reason for e in baseline.read(folder / "known.toml").entries}
    assert found == {"race-write-write": "", "oob-load": 'it is "padded"'}
    done = check(folder, "--baseline", "known.toml", "--format", "sarif", "src/old.py")
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    assert result["suppressions"][0]["justification"] == 'it is "padded"'


def test_entries_by_hand_are_for_more_than_one_line(folder):
    (folder / "known.toml").write_text('[[finding]]\ncode = "oob-load"\nfile = "s*/k*.py"\n')
    check(folder, "--baseline", "known.toml", "src/old.py", status=0)
    check(folder, "--baseline", "known.toml", "src/both.py", status=66)


def test_child_processes(folder):
    (folder / "src" / "parent.py").write_text(
        "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, 'src/both.py']))\n"
    )
    done = check(folder, "--baseline", "known.toml", "src/parent.py")
    assert done.returncode == 2
    done = check(folder, "--write-baseline", "known.toml", "src/parent.py", status=0)
    assert done.stderr == "wrote known.toml: 2 entries, 2 new, 0 dropped\n"
    done = check(folder, "--baseline", "known.toml", "src/parent.py", status=0)
    assert "error[" not in done.stderr
    text = (folder / "known.toml").read_text()
    (folder / "known.toml").write_text(text[: text.rindex("[[finding]]")])
    assert check(folder, "--baseline", "known.toml", "src/parent.py").returncode == 66


WRONG = {
    "x = 1": "has 'x', expected tables [[finding]] only",
    "finding = 3": "has finding = ..., expected tables [[finding]] only",
    "[[finding]]\nfile = 'a'": ", entry 1 has no code",
    "[[finding]]\ncode = 'oob-load'": ", entry 1 has no file",
    "[[finding]]\ncode = 'oob-laod'\nfile = 'a'": "'oob-laod' is no code of a finding; did you "
    "mean 'oob-load'?",
    "[[finding]]\ncode = 'oob-load'\nfiel = ''": "the unknown key 'fiel'; did you mean 'file'?",
    "[[finding]]\ncode = 'oob-load'\nfile = 3": "file is 3, expected a text",
    "[[finding]\n": "cannot be read: ",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_files(folder, text):
    (folder / "known.toml").write_text(text)
    done = check(folder, "--baseline", "known.toml", "src/old.py", status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("blockscope: baseline 'known.toml'") and WRONG[text] in line


def test_wrong_use(folder):
    def said(*words):
        return check(folder, *words, "src/old.py", status=2).stderr.strip()

    assert said("--baseline", "none.toml") == (
        "blockscope: there is no baseline 'none.toml'; blockscope check --write-baseline none.toml "
        "makes one"
    )
    assert "expected one of them" in said("--baseline", "a", "--write-baseline", "b")
    assert "--stop-at-first finds one" in said("--stop-at-first", "--write-baseline", "b")
    assert "there is no folder" in said("--write-baseline", "no/b.toml")
    (folder / "src" / "empty.py").write_text("")
    done = check(folder, "--write-baseline", "b.toml", "src/empty.py", status=0)
    assert (
        done.stderr == ("no kernel was launched: nothing was checked; b.toml stays as it is\n")
        and not (folder / "b.toml").exists()
    )


@pytest.mark.parametrize("text", ['a"b', "a\\b", "tab\there", "ümlaut ☃ 𝄞", "\x7f\x01", "'''"])
def test_what_is_written_is_read(tmp_path, text):
    made = baseline.Baseline(tmp_path / "known.toml", accepts_all=True)
    finding = {"code": "oob-load", "file": str(tmp_path / f"{text}.py"), "line": 1, "kernel": text}
    made.update([finding], [])
    (entry,) = baseline.read(tmp_path / "known.toml").entries
    assert entry.kernel == text and entry.file == f"{text}.py"
    assert baseline.read(tmp_path / "known.toml").reason_for(finding) == "it is in " + str(
        tmp_path / "known.toml"
    )


# --- from Python ----------------------------------------------------------------------------------


@blockscope.jit
def stores(out_ptr):
    tl.store(out_ptr, tl.program_id(0))
    tl.store(out_ptr + 4, 1)


def launch():
    stores[(4,)](np.zeros(4, np.int32))


def test_check_takes_a_baseline(tmp_path):
    with blockscope.check("asan,tsan") as report:
        launch()
    codes = sorted(each.code for each in report)
    assert codes == ["oob-store", "race-write-write"]
    file = tmp_path / "known.toml"
    baseline.Baseline(file, accepts_all=True).update(
        [each.data for each in report if each.code == "oob-store"], []
    )
    with blockscope.check("asan,tsan", baseline=file) as report:
        launch()
    assert [each.code for each in report] == ["race-write-write"] and report.error_count == 1
    (known,) = report.allowed
    assert known.is_known and known.allowed == f"it is in {file}"
    with (
        blockscope.check("asan", baseline=file, stop_at_first=True),
        pytest.raises(StoppedAtFirst),
    ):
        launch()
    with pytest.raises(ValueError, match="there is no baseline 'none.toml'"):
        with blockscope.check("asan", baseline="none.toml"):
            pass


def test_what_is_known_does_not_push_out_what_is_new(tmp_path):
    file = tmp_path / "known.toml"
    with blockscope.check("asan,tsan") as report:
        launch()
    first, second = report.findings
    baseline.Baseline(file, accepts_all=True).update([first.data], [])
    with blockscope.check("asan,tsan", baseline=file, max_findings=1) as report:
        launch()
    assert [each.code for each in report] == [second.code]


# --- severities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [False, True])
def test_severities(step):
    severity = {"oob-store": "note", "race-write-write": "warning"}
    with (
        blockscope.knobs.runtime.scope(),
        blockscope.check("asan,tsan", severity=severity) as report,
    ):
        blockscope.set_interpret_mode(step)
        launch()
    assert {each.code: each.severity for each in report} == severity
    assert report.error_count == 0
    report.raise_on_error()
    text = report.text()
    assert "note[oob-store]" in text and text.endswith("\n0 errors, 1 warning, 1 note")
    with blockscope.check("asan,tsan", severity={"oob-store": "off"}) as report:
        launch()
    assert [each.code for each in report] == ["race-write-write"] and "1 error, 0" in report.text()


def test_an_error_by_severity_stops_and_one_that_is_none_does_not():
    with blockscope.check("asan", severity={"oob-store": "note"}, stop_at_first=True) as report:
        launch()
        launch()
    assert report.launches == 2
    severity = {"oob-store": "off", "race-write-write": "off"}
    with blockscope.check("asan,tsan", severity=severity, stop_at_first=True) as report:
        launch()
    assert report.clean


@pytest.mark.parametrize(
    "severity, said",
    [
        ({"oob-laod": "note"}, "'oob-laod' is no code of a finding; did you mean 'oob-load'?"),
        (
            {"oob-load": "of"},
            "the severity of 'oob-load' is 'of', expected error, warning, note or",
        ),
        ({"oob-load": 3}, "the severity of 'oob-load' is 3"),
    ],
)
def test_wrong_severities(severity, said):
    with pytest.raises(ValueError, match=said), blockscope.check("asan", severity=severity):
        pass


def test_severities_and_baseline_of_a_project(folder):
    (folder / "src" / "flag.py").write_text("import kernels\nkernels.launch_flag()\n")
    project = folder / "pyproject.toml"
    severity = '[tool.blockscope.severity]\nrace-same-value = "error"\noob-load = "off"\n'
    project.write_text("[tool.blockscope]\n" + severity)
    assert "error[race-same-value]" in check(folder, "src/flag.py", status=66).stderr
    done = check(folder / "src", "old.py", status=0)
    assert done.stderr == "no findings (asan, tsan)\n"
    done = check(folder, "--format", "github", "src/flag.py", status=66)
    assert done.stdout.startswith("::error ")
    done = check(folder, "--format", "sarif", "src/flag.py", status=66)
    assert json.loads(done.stdout)["runs"][0]["results"][0]["level"] == "error"
    done = run(folder, "blockscope", "trace", "-o", "t.h5", "src/flag.py", status=0)
    assert done.stderr.startswith("wrote 1 launch with 1 error to t.h5")
    project.write_text('[tool.blockscope]\nbaseline = "known.toml"\n')
    assert "there is no baseline" in check(folder, "src/old.py", status=2).stderr
    check(folder, "--write-baseline", "known.toml", "src/old.py", status=0)
    check(folder / "src", "old.py", status=0)
    check(folder / "src", "--baseline", "off", "old.py", status=66)
    project.write_text('[tool.blockscope.severity]\noob-load = "warn"\n')
    assert check(folder, "src/old.py", status=2).stderr.strip() == (
        f"blockscope: {project}: [tool.blockscope.severity]: the severity of 'oob-load' is 'warn', "
        "expected error, warning, note or off"
    )
    project.write_text("[tool.blockscope]\nbaseline = 3\n")
    assert "baseline is 3, expected the path of a file" in check(folder, "src/old.py").stderr


# --- pytest ---------------------------------------------------------------------------------------

TESTS = """
import pytest
from kernels import *
def test_read(): launch_read()
def test_number(): launch_number()
def test_flag(): launch_flag()
"""


@pytest.fixture
def project(folder):
    (folder / "src" / "test_it.py").write_text(TESTS)
    (folder / "src" / "conftest.py").write_text("")
    (folder / "pyproject.toml").write_text("[tool.blockscope]\nchecks = 'asan,tsan'\n")
    return folder


def pytest_(folder, *words, status=None):
    return run(folder, "pytest", "-p", "no:cacheprovider", *words, status=status).stdout


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_a_baseline_of_tests(project, words):
    said = pytest_(project, *words, "--blockscope-write-baseline", "known.toml", status=0)
    assert "wrote known.toml: 3 entries, 3 new, 0 dropped" in said, said
    said = pytest_(project, *words, "--blockscope-baseline", "known.toml", status=0)
    assert "3 findings that fail nothing are in known.toml" in said
    assert "passed with findings" not in said
    (project / "src" / "kernels.py").write_text(KERNELS.replace("out_ptr, 1)", "out_ptr, 2)"))
    said = pytest_(project, *words, "--blockscope-baseline", "known.toml", status=0)
    assert "known.toml:4: 'race-same-value' of kernel 'flag' at 'tl.store(out_ptr, 1)'" in said
    assert said.count("no longer occurs") == 1 and "passed with findings" in said
    said = pytest_(project, *words, "-k", "read", "--blockscope-baseline", "known.toml", status=0)
    assert "no longer occurs" not in said
    text = KERNELS.replace("x_ptr + 8", "x_ptr + 9")
    (project / "src" / "kernels.py").write_text(text)
    said = pytest_(project, *words, "--blockscope-baseline", "known.toml", status=1)
    assert "1 failed, 2 passed" in said and "no longer occurs" not in said


def test_all_kernels_that_have_a_line_are_in_a_baseline_of_tests(project):
    """Of one mistake pytest tells once, wherever it is called from."""
    (project / "src" / "kernels.py").write_text("""
import numpy as np, triton, triton.language as tl

@triton.jit
def put(ptr): tl.store(ptr + 8, 1.0)

@triton.jit
def one(ptr): put(ptr)

@triton.jit
def two(ptr): put(ptr)
""")
    (project / "src" / "test_it.py").write_text("""
import numpy as np
from kernels import *
def test_one(): one[(1,)](np.zeros(8, np.float32))
def test_two(): two[(1,)](np.zeros(8, np.float32))
""")
    pytest_(project, "--blockscope-write-baseline", "known.toml", status=0)
    found = [(e.code, e.kernel) for e in baseline.read(project / "known.toml").entries]
    assert found == [("oob-store", "one"), ("oob-store", "two")]
    pytest_(project, "--blockscope-baseline", "known.toml", status=0)


def test_severities_of_tests(project):
    with open(project / "pyproject.toml", "a") as file:
        file.write('baseline = "known.toml"\n[tool.blockscope.severity]\n')
        file.write('race-write-write = "warning"\nrace-same-value = "error"\n')
    (project / "known.toml").write_text('[[finding]]\ncode = "oob-load"\nfile = "src/*"\n')
    said = pytest_(project, status=1)
    assert "1 failed, 2 passed" in said and "error[race-same-value]" in said
    (project / "src" / "test_it.py").write_text(
        TESTS.replace(
            "def test_flag", "@pytest.mark.blockscope(severity={'race-same-value': 'note'})\n"
            "def test_flag",
        )
    )  # fmt: skip
    said = pytest_(project, status=0)
    assert "passed with findings, which 'pytest -rP' shows: race-same-value (1), race-wri" in said
    said = pytest_(project, "--blockscope-baseline", "off", status=1)
    assert "error[oob-load]" in said


def test_a_run_without_launches_writes_no_baseline(project):
    said = pytest_(project, "-k", "none", "--blockscope-write-baseline", "known.toml")
    assert "nothing was checked; known.toml stays as it is" in said
    assert not (project / "known.toml").exists()


def test_wrong_use_of_pytest(project):
    words = ["--blockscope-baseline", "a", "--blockscope-write-baseline", "b"]
    done = run(project, "pytest", *words, status=4)
    assert "expected one of them" in done.stderr
    done = run(project, "pytest", "--blockscope-baseline", "none.toml", status=4)
    assert "there is no baseline" in done.stderr
    done = run(project, "pytest", "--blockscope-write-baseline", "no/b.toml", status=4)
    assert "--blockscope-write-baseline: " in done.stderr and "there is no folder" in done.stderr
    done = run(project, "pytest", "--blockscope=off", "--blockscope-baseline", "a", status=4)
    assert "--blockscope-baseline is about checked tests" in done.stderr
