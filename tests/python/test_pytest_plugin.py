"""The plugin of pytest, on small projects that a pytest of their own runs."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree
from pathlib import Path
from types import SimpleNamespace

import h5py
import jsonschema
import pytest
import sarif_schema
from blockscope.cli.explain import codes
from blockscope.pytest_plugin.summary import Summary

ROOT = Path(__file__).resolve().parents[2]

KERNELS = """
import numpy as np
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@triton.jit
def number(out_ptr):
    tl.store(out_ptr, tl.program_id(0))


@triton.jit
def flag(out_ptr):
    tl.store(out_ptr, 1)


def launch(n):
    '''Right for multiples of 256.'''
    x, out = np.ones(n, np.float32), np.zeros(n, np.float32)
    copy[((n + 255) // 256,)](x, out, n, BLOCK=256)
    return out


def race(kernel):
    kernel[(4,)](np.zeros(1, np.int32))
"""
REPORT = "kernels.py:10:9: error[oob-load]: load of 4 bytes at byte 4000 of 'x_ptr'"


class Project:
    """A folder with kernels and tests, and what pytest says of it."""

    def __init__(self, folder):
        self.folder = folder
        self.write("kernels.py", KERNELS)
        self.write("conftest.py", "")  # puts the folder on the path

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(textwrap.dedent(text))

    def run(self, *words, tests=None, **env):
        if tests is not None:
            head = "import pytest\nfrom kernels import *\n\n"
            self.write("test_it.py", head + textwrap.dedent(tests))
        self.done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, words)],
            capture_output=True, text=True, cwd=self.folder, timeout=240,
            env={k: v for k, v in os.environ.items()
                 if not k.startswith(("PYTEST_", "BLOCKSCOPE_", "TRITON_"))}
            | {"COLUMNS": "200"} | env,
        )  # fmt: skip
        return self.done.stdout + self.done.stderr

    def outcomes(self):
        """{"passed": 2, "failed": 1}, from pytest's last line."""
        last = self.done.stdout.rstrip().splitlines()[-1]
        found = re.findall(r"(\d+) (\w+)", last.partition(" in ")[0])
        return {name.rstrip("s") if name == "errors" else name: int(n) for n, name in found}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


CHECKED = "--blockscope=asan,tsan"


# --- what fails -----------------------------------------------------------------------------------


def test_off_unless_asked(project):
    """Without checks a bad access is an error of its launch, and a race is nothing."""
    text = project.run(
        tests="""
        def test_race(): race(number)
        @pytest.mark.blockscope(allow="oob-load")
        def test_marks_are_known(): pass
        def test_fixture(blockscope_report): pass
        """
    )
    assert project.outcomes() == {"passed": 2, "skipped": 1}, text
    assert "checked" not in text
    text = project.run("-rs", "--strict-markers")
    assert "run pytest with --blockscope=CHECKS" in text and project.done.returncode == 0


@pytest.mark.parametrize("env", [{}, {"TRITON_INTERPRET": "1"}])
@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_a_finding_fails_its_test_with_the_report(project, words, env):
    text = project.run(
        CHECKED, *words,
        tests="""
        @pytest.mark.parametrize("n", [1024, 1000])
        def test_copy(n): assert launch(n).sum() == n
        def test_race(): race(number)
        def test_none(): pass
        """, **env,
    )  # fmt: skip
    assert project.outcomes() == {"passed": 2, "failed": 2}, text
    failures = text.partition("= FAILURES =")[2]
    for line in (
        REPORT,
        "  10 |     x = tl.load(x_ptr + offsets)",
        "  where: kernel 'copy', program (3, 0, 0), lane 232 of block [256], grid (4, 1, 1)",
        "  hint: is a mask missing?",
        "kernels.py:16:5: error[race-write-write]: ",
        "checked 3 launches of 3 tests: asan, tsan",
    ):
        assert line in failures, text
    assert "FAILED test_it.py::test_copy[1000] - kernels.py:10:9: error[oob-load]" in failures
    assert "Traceback" not in text and "checked_tests" not in text


def test_only_launches_of_a_test_belong_to_it(project):
    text = project.run(
        CHECKED,
        tests="""
        race(number)  # while tests are collected: nobody's
        def test_bad(): launch(1000)
        def test_good(): launch(1024)
        def test_race(): race(number)
        def test_good_again(): launch(1024)
        """,
    )
    assert project.outcomes() == {"passed": 2, "failed": 2}, text
    assert "FAILED test_it.py::test_bad" in text and "FAILED test_it.py::test_race" in text
    assert text.count("error[oob-load]") == 2  # in the report and in the short summary
    assert "checked 4 launches of 4 tests" in text


def test_launches_of_fixtures_count_to_the_test(project):
    text = project.run(
        CHECKED,
        tests="""
        @pytest.fixture
        def before(): return launch(1000)
        @pytest.fixture
        def after():
            yield
            launch(1000)
        @pytest.fixture
        def broken():
            launch(1000)
            raise OSError("no such thing")
        def test_before(before): pass
        def test_after(after): pass
        def test_broken(broken): pass
        """,
    )
    assert project.outcomes() == {"passed": 1, "failed": 1, "error": 2}, text
    assert "FAILED test_it.py::test_before - kernels.py:10:9: error[oob-load]" in text
    assert "ERROR test_it.py::test_after - kernels.py:10:9: error[oob-load]" in text
    broken = text.partition("ERROR at setup of test_broken")[2]
    assert "OSError: no such thing" in broken
    assert REPORT in broken.partition("- Blockscope report -")[2]


def test_a_test_that_fails_by_itself_has_the_report_too(project):
    text = project.run(CHECKED, tests="def test_sum(): assert launch(1000).sum() == 3\n")
    assert project.outcomes() == {"failed": 1}
    head, _, report = text.partition("- Blockscope report -")
    assert "assert launch(1000).sum() == 3" in head and REPORT in report
    assert text.count("error[oob-load]") == 1


def test_xfail_skip_and_stop(project):
    tests = """
        @pytest.mark.xfail
        def test_expected(): launch(1000)
        @pytest.mark.xfail(strict=True)
        def test_strict(): launch(1000)
        @pytest.mark.xfail(raises=triton.errors.SanitizerError)
        def test_by_its_class(): launch(1000)
        @pytest.mark.xfail(raises=OSError)
        def test_by_another_class(): launch(1000)
        def test_imperative():
            launch(1000)
            pytest.xfail("known")
        def test_skipped_late():
            launch(1000)
            pytest.skip("no more")
        @pytest.mark.skip
        def test_skipped(): launch(1000)
        """
    text = project.run(CHECKED, tests=tests)
    assert project.outcomes() == {"failed": 2, "skipped": 1, "xfailed": 4}, text
    assert "FAILED test_it.py::test_by_another_class" in text
    assert "FAILED test_it.py::test_skipped_late - kernels.py:10:9: error[oob-load]" in text
    project.run(CHECKED, "-x", tests="def test_one(): launch(1000)\ndef test_two(): launch(1000)\n")
    assert project.outcomes() == {"failed": 1}


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_unittest_classes(project, words):
    text = project.run(
        CHECKED, *words,
        tests="""
        import unittest
        class TestCopy(unittest.TestCase):
            def test_good(self): launch(1024)
            def test_bad(self): launch(1000)
            def test_wrong_too(self):
                launch(1000)
                self.assertEqual(1, 2)
            def test_skipped_late(self):
                launch(1000)
                self.skipTest("no more")
        class TestOfSetUp(unittest.TestCase):
            def setUp(self): launch(1000)
            def test_nothing(self): pass
        class TestOfClass(unittest.TestCase):
            @classmethod
            def setUpClass(cls): launch(1000)
            def test_nothing(self): pass
        """,
    )  # fmt: skip
    assert project.outcomes() == {"failed": 5, "passed": 1}, text
    wrong = text.partition("TestCopy.test_wrong_too")[2].partition("___ Test")[0]
    assert "AssertionError: 1 != 2" in wrong and REPORT in wrong


def test_findings_of_child_processes(project):
    text = project.run(
        CHECKED,
        tests="""
        import subprocess, sys
        CHILD = [sys.executable, "-c", "import kernels; kernels.race(kernels.number)"]
        def test_child(): assert subprocess.run(CHILD).returncode != 0
        @pytest.mark.blockscope(allow="race-write-write")
        def test_allowed(): subprocess.run(CHILD)
        def test_other(): launch(1024)
        """,
    )
    assert project.outcomes() == {"failed": 1, "passed": 2}, text
    assert re.search(r"in child process \d+:\nkernels.py:16:5: error\[race-write-write\]", text)


def test_several_findings_and_those_that_are_not_kept(project):
    text = project.run(
        CHECKED,
        tests="""
        @pytest.mark.blockscope(max_findings=2)
        def test_many():
            launch(1000)
            race(number)
            race(flag)
        """,
    )
    assert project.outcomes() == {"failed": 1}
    _, _, report = text.partition("___ test_many ___")
    assert "error[oob-load]" in report and "\n\nkernels.py:16:5: error[race-write-write]" in report
    assert "race-same-value" not in report
    assert "\n\nfurther causes that are not shown: 1 (max_findings)\n" in report


def test_warnings_do_not_fail_but_are_shown(project):
    tests = "def test_flag(): race(flag)\ndef test_good(): launch(1024)\n"
    text = project.run(CHECKED, tests=tests)
    assert project.outcomes() == {"passed": 2}, text
    assert "passed with findings, which 'pytest -rP' shows: race-same-value (1)" in text
    assert "warning[race-same-value]" not in text
    text = project.run(CHECKED, "-rP")
    assert "warning[race-same-value]" in text.partition("- Blockscope report -")[2]


def test_no_launch_is_said(project):
    text = project.run(CHECKED, tests="def test_nothing(): pass\n")
    assert "no test has launched a kernel of Blockscope: nothing was checked" in text
    assert project.done.returncode == 0


# --- marks, and the fixture -----------------------------------------------------------------------


def test_marks(project):
    text = project.run(
        "--blockscope=asan",
        tests="""
        @pytest.mark.blockscope(checks=["tsan"])
        def test_other_checks(): race(number)
        @pytest.mark.blockscope(checks="off")
        def test_unchecked(): race(number)
        def test_default(): race(number)
        @pytest.mark.blockscope(checks="tsan", allow=["race-write-write"])
        class TestAllow:
            def test_class(self): race(number)
            @pytest.mark.blockscope(allow="oob-load")
            def test_both(self):
                race(number)
                launch(1000)
            @pytest.mark.blockscope(checks="asan", allow="oob-load")
            def test_nearest_checks(self): launch(1000)
        @pytest.mark.blockscope(bounds="storage")
        def test_option():
            x, out = np.ones(1024, np.float32), np.zeros(1000, np.float32)
            copy[(4,)](x[:1000], out, 1000, BLOCK=256)
        def test_without_option():
            x, out = np.ones(1024, np.float32), np.zeros(1000, np.float32)
            copy[(4,)](x[:1000], out, 1000, BLOCK=256)
        """,
    )
    failed = re.findall(r"^FAILED test_it.py::(\w+).* error\[([\w-]+)", text, re.M)
    found = [("test_other_checks", "race-write-write"), ("test_without_option", "outside-view")]
    assert failed == found and project.outcomes() == {"failed": 2, "passed": 6}, text


WRONG_MARKS = {
    '"asan"': "takes checks=, allow= and options of checks, found 'asan' without a name",
    'checks="asn"': "(checks='asn'): unknown check 'asn', expected arith, asan, ",
    "checks=[3]": "(checks=[3]): 'checks' has 3 (int), expected names such as",
    'allow="oob-laod"': "(allow='oob-laod'): 'oob-laod' is no code of a finding; did you mean "
    "'oob-load'?",
    "allow=7": "(allow=7): expected codes of findings, such as ['oob-load']",
    "bound=3": "unknown option 'bound' of a check",
    'bounds="tight"': "bounds is 'tight', expected view or storage",
    "severity='off'": "(severity='off'): 'severity' is 'off', expected a table such as {",
    "severity={'oob-load': 'no'}": "the severity of 'oob-load' is 'no', expected error, warning",
    "max_findings=0": "max_findings is 0, expected a whole number of at least 1",
}


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_wrong_marks_are_errors_of_their_test(project, words):
    tests = "".join(
        f"@pytest.mark.blockscope({mark})\ndef test_{number}(): launch(1024)\n"
        for number, mark in enumerate(WRONG_MARKS)
    )
    text = project.run(CHECKED, *words, tests=tests + "def test_right(): launch(1024)\n")
    assert project.outcomes() == {"error": len(WRONG_MARKS), "passed": 1}, text
    for number, said in enumerate(WRONG_MARKS.values()):
        block = text.partition(f"ERROR at setup of test_{number} ")[2].partition("\n____")[0]
        assert "@pytest.mark.blockscope" in block and said in block, block
        assert "During handling" not in block and "Traceback" not in block


@pytest.mark.parametrize("words", [(), ("-n", "2"), ("-q",)])
def test_an_allow_that_never_matched_is_named(project, words):
    text = project.run(
        CHECKED, *words,
        tests="""
        @pytest.mark.blockscope(allow="oob-load")
        @pytest.mark.parametrize("n", [1024, 1000])  # one of them needs it
        def test_needed(n): launch(n)
        @pytest.mark.blockscope(allow=["oob-load", "race-write-write"])
        @pytest.mark.parametrize("n", [1024, 2048])
        def test_unneeded(n): launch(n)
        @pytest.mark.blockscope(allow="nan-born")  # a check that does not run
        def test_of_another_check(): launch(1024)
        @pytest.mark.blockscope(allow="oob-load")
        def test_skipped(): pytest.skip("not here")
        allowed = pytest.mark.blockscope(allow="oob-load")
        @pytest.mark.parametrize("n", [pytest.param(1024, marks=allowed), 1000])
        def test_one_parameter(n): launch(n)
        """,
    )  # fmt: skip
    named = re.findall(r"^(test_it.py::.*) is not needed: none of its launches", text, re.M)
    assert named == [
        "test_it.py::test_unneeded: allow='oob-load'",
        "test_it.py::test_unneeded: allow='race-write-write'",
        "test_it.py::test_one_parameter[1024]: allow='oob-load'",
    ], text
    text = project.run(CHECKED, "-k", "1024")
    assert "allow='race-write-write'" not in text  # it may be for those that were left out


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_what_is_said_does_not_depend_on_which_worker_ends_first(order):
    config = SimpleNamespace(
        getoption=lambda name: None, args_source=None, ArgsSource=SimpleNamespace(ARGS=1)
    )
    worker, reporter = (Summary(config, ["asan"], None) for _ in range(2))
    for number in range(3):
        worker.will_run(f"test_{number}", [f"mark {number}"])
    for number in order:
        report = SimpleNamespace(nodeid=f"test_{number}", passed=True)
        facts = {
            "place": 0, "launches": 1, "copies": 0, "findings": [], "comments": {},
            "allow": {f"mark {number}": False}, "wrong_comments": [], "baseline": {},
        }  # fmt: skip
        worker.send(report, facts)
        reporter.pytest_runtest_logreport(report)
    named = [line.partition(" is not needed")[0] for line in reporter._lines(is_quiet=True)]
    assert named == ["mark 0", "mark 1", "mark 2"]


def test_the_fixture_gives_findings_as_data(project):
    text = project.run(
        CHECKED,
        tests="""
        @pytest.mark.blockscope(allow="oob-load")
        def test_data(blockscope_report):
            assert blockscope_report.findings == [] and blockscope_report.launches == 0
            launch(1000)
            (finding,) = blockscope_report.findings
            assert (finding.code, finding.line, finding.tensor) == ("oob-load", 10, "x_ptr")
            assert finding.data["program"] == [3, 0, 0] and finding.count == 24
            assert "oob-load" in blockscope_report.text()
        @pytest.mark.blockscope(checks="off")
        def test_off(blockscope_report): pass
        """,
    )
    assert project.outcomes() == {"passed": 1, "skipped": 1}, text


# --- pyproject.toml -------------------------------------------------------------------------------


def test_pyproject_asks(project):
    project.write(
        "pyproject.toml",
        """
        [tool.blockscope]
        checks = ["asan", "tsan"]
        bounds = "storage"
        max-findings = 1
        """,
    )
    text = project.run(
        tests="""
        def test_view():
            x, out = np.ones(1024, np.float32), np.zeros(1000, np.float32)
            copy[(4,)](x[:1000], out, 1000, BLOCK=256)
        def test_race(): race(number)
        """
    )
    assert project.outcomes() == {"passed": 1, "failed": 1}, text
    assert "the kernels of each test are checked: asan, tsan" in text
    project.run("--blockscope=asan")
    assert project.outcomes() == {"passed": 2}
    text = project.run("--blockscope=off")
    assert project.outcomes() == {"passed": 2} and "checked" not in text
    project.write("sub/test_sub.py", "def test_nothing(): pass\n")
    project.write("sub/pytest.ini", "[pytest]\n")
    assert "are checked: asan, tsan" in project.run("sub")  # the nearest folder above that says so


@pytest.mark.parametrize(
    "text, said",
    [
        ("check = ['asan']", "has the unknown key 'check'; did you mean 'checks'?"),
        ("colour = 'red'", "has the unknown key 'colour'; known are checks, max_findings, "),
        ("checks = ['asn']", "checks: unknown check 'asn', expected arith, asan, "),
        ("checks = 3", "checks: 'checks' has 3 (int), expected names"),
        ("checks = 'asan'\nbounds = 'tight'", "bounds is 'tight', expected view or storage"),
        ("max-findings = 0", "max-findings is 0, expected a whole number of at least 1"),
    ],
)
def test_wrong_tables_are_named_with_their_file(project, text, said):
    project.write("pyproject.toml", f"[tool.blockscope]\n{text}\n")
    text = project.run(tests="def test_nothing(): pass\n")
    assert project.done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {project.folder}/pyproject.toml: [tool.blockscope] {said}" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    "words, said",
    [
        (["--blockscope=asn"], "--blockscope=asn: unknown check 'asn', expected arith, asan, "),
        (["--blockscope="], "--blockscope: no check was named, expected arith, "),
        (["--blockscope"], "undefined or all, or off, as in --blockscope=asan,tsan"),
        (
            ["--blockscope", "conftest.py"],
            "unknown check 'conftest.py', expected arith, asan, ",
        ),
        (["--blockscope", "conftest.py"], "as in --blockscope=asan,tsan conftest.py"),
        (["--blockscope-trace=t"], "--blockscope-trace is about checked tests, and no test is"),
        (["--blockscope-sarif=t"], "--blockscope-sarif is about checked tests, and no test is"),
        (["--blockscope-github"], "--blockscope-github is about checked tests, and no test is"),
        ([CHECKED, "--blockscope-sarif=no/x"], "'no/x' cannot be written: there is no folder '"),
        ([CHECKED, "--blockscope-trace=test_it.py"], "'test_it.py' cannot be made: File exists"),
    ],
)
@pytest.mark.parametrize("more", [[], ["-n", "2"]])
def test_wrong_options(project, words, said, more):
    text = project.run(*words, *more, tests="def test_nothing(): pass\n")
    assert project.done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {said}" in text or said in text, text
    assert "Traceback" not in text and "INTERNALERROR" not in text


def test_another_triton_that_is_installed(project):
    """What is checked is what Blockscope runs, so that its triton has to be the one."""
    project.write("triton/__init__.py", "raise AssertionError('the other triton')\n")
    project.write("conftest.py", "import triton\n")
    text = project.run(CHECKED, tests="def test_bad(): launch(1000)\n")
    assert project.outcomes() == {"failed": 1}, text
    assert REPORT in text


def test_another_triton_that_is_there_already(project):
    project.write("triton/__init__.py", "")
    project.write("early.py", "import triton\n")
    path = os.pathsep.join([".", os.environ.get("PYTHONPATH", "")])
    text = project.run("-p", "early", CHECKED, tests="def test_nothing(): pass\n", PYTHONPATH=path)
    assert "blockscope cannot check: another triton is imported already, from " in text
    assert project.done.returncode == pytest.ExitCode.USAGE_ERROR


# --- traces, JUnit, GPUs, installation ------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_traces_of_failing_tests_are_kept(project, words):
    folder = project.folder / "made" / "traces"
    tests = """
        @pytest.mark.parametrize("n", [1024, 1000, "not a number"])
        def test_copy(n): launch(n)
        def test_own(): launch(1024); assert False
        @pytest.mark.xfail
        def test_expected(): launch(1000)
        def test_no_launch(): assert False
        @pytest.fixture
        def after():
            yield
            launch(1000)
        class TestClass:
            def test_after(self, after): pass
        """
    text = project.run(CHECKED, "--blockscope-trace", folder, *words, tests=tests)
    assert project.outcomes() == {"passed": 2, "failed": 4, "xfailed": 1, "error": 1}, text
    names = sorted(file.name for file in folder.iterdir())
    kept = [
        "test_it.py-TestClass-test_after.h5",
        "test_it.py-test_copy-1000-",
        "test_it.py-test_own.h5",
    ]
    assert len(names) == len(kept), names
    assert all(name.startswith(each) for name, each in zip(names, kept, strict=True)), names
    for file in folder.iterdir():
        if "own" not in file.name:
            assert f"trace: blockscope view {file}" in text
        with h5py.File(file) as trace:
            assert len(trace["launches"]) == 1
    project.run(
        CHECKED, "--blockscope-trace", folder, *words, tests="def test_own(): launch(1024)\n"
    )
    assert not (folder / "test_it.py-test_own.h5").exists()  # of the run before


def test_junit_has_the_report(project):
    project.run(
        CHECKED, "--junitxml=junit.xml",
        tests="""
        def test_bad(): launch(1000)
        def test_own(): assert launch(1000).sum() == 3
        """,
    )  # fmt: skip
    root = xml.etree.ElementTree.parse(project.folder / "junit.xml").getroot()
    bad, own = root.iter("failure")
    assert bad.get("message").startswith(REPORT) and "hint: is a mask missing?" in bad.text
    assert "assert " in own.get("message") and REPORT in own.text


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_findings_of_all_tests_for_a_code_host(project, words):
    """The same mistake once, however many tests make it; what is allowed is suppressed."""
    text = project.run(
        CHECKED, "--blockscope-sarif=out.sarif", "--blockscope-github", *words,
        tests="""
        @pytest.mark.parametrize("n", [1000, 1024, 1001])
        def test_copy(n): launch(n)
        @pytest.mark.blockscope(allow="race-write-write")
        def test_race(): race(number)
        def test_flag(): race(flag)
        """,
    )  # fmt: skip
    assert project.outcomes() == {"failed": 2, "passed": 3}, text
    commands = re.findall(
        r"^::(\w+) file=kernels.py,line=(\d+),col=(\d+),title=([\w-]+)", text, re.M
    )
    assert sorted(commands) == [
        ("error", "10", "9", "oob-load"),
        ("warning", "21", "5", "race-same-value"),
    ]
    log = json.loads((project.folder / "out.sarif").read_text())
    jsonschema.validate(log, sarif_schema.LOG)
    found = {each["ruleId"]: each.get("suppressions") for each in log["runs"][0]["results"]}
    allowed = "test_it.py::test_race: allow='race-write-write'"
    assert found == {
        "oob-load": None,
        "race-write-write": [{"kind": "inSource", "justification": allowed}],
        "race-same-value": None,
    }
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is True


def test_tensors_of_a_gpu_are_checked_as_copies(project):
    """An array that says it is on a GPU, and a driver that copies host memory."""
    text = project.run(
        CHECKED,
        tests="""
        import ctypes
        from blockscope import _core

        class Array:
            def __init__(self, count):
                self.memory = np.ones(count, np.float32)
                self.__cuda_array_interface__ = {
                    "shape": (count,), "typestr": "<f4", "version": 3,
                    "data": (self.memory.ctypes.data, False),
                }

        @pytest.fixture(autouse=True)
        def driver(monkeypatch):
            copy = lambda to, source, size, device: ctypes.memmove(to, source, size)
            monkeypatch.setattr(_core.gpu, "copy_to_host", copy)
            monkeypatch.setattr(_core.gpu, "copy_to_device", copy)
            monkeypatch.setattr(_core.gpu, "device_of_address", lambda address: (0, "float32"))

        def test_bad():
            x, out = Array(1000), Array(1000)
            copy[(4,)](x, out, 1000, BLOCK=256)
        def test_good():
            x, out = Array(1024), Array(1024)
            x.memory[:] = 3
            copy[(4,)](x, out, 1024, BLOCK=256)
            assert out.memory.sum() == 3 * 1024
        def test_on_the_cpu(): launch(1024)
        """,
    )
    assert project.outcomes() == {"failed": 1, "passed": 2}, text
    assert "tensors of a GPU were copied: what was checked ran on the CPU" in text
    assert (
        "2 tests with tensors of a GPU: they were copied, and their kernels were checked on the CPU"
        in text
    )


def test_the_entry_point_is_that_of_pyproject():
    (entry,) = [
        point
        for point in importlib.metadata.entry_points(group="pytest11")
        if point.name == "blockscope"
    ]
    table = (ROOT / "pyproject.toml").read_text().partition("[project.entry-points.pytest11]\n")[2]
    assert table.startswith(f'{entry.name} = "{entry.value}"\n')
    version = importlib.metadata.version("blockscope")
    assert f"project(blockscope VERSION {version} " in (ROOT / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("more", [[], ["-n", "2"]])
def test_without_the_entry_point_it_is_named(project, more):
    """As where the package is only on the path."""
    words = ["-p", "blockscope.pytest_plugin", CHECKED, *more]
    text = project.run(
        *words, "-p", "xdist", tests="def test_bad(): launch(1000)\n",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )  # fmt: skip
    assert project.outcomes() == {"failed": 1}, text
    assert REPORT in text


def test_an_unchecked_run_loads_nothing_heavy(project):
    tests = """
        import sys
        def test_loaded(): assert not {"blockscope._core", "blockscope.checks"} & set(sys.modules)
        """
    project.write("test_light.py", tests)
    text = project.run("test_light.py")
    assert project.outcomes() == {"passed": 1}, text


def test_codes_of_marks_are_those_of_the_pages():
    from blockscope import _core

    assert {row[0] for row in _core.finding_codes()} <= set(codes())
