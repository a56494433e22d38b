"""Every bad kernel of tests/kernels gives its report, every good one gives none.

The chosen files run in one process for each number of threads (and one in step mode); a few go
through the command as well. The format of the header is in tests/kernels/README.md.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_runner import checks_of

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
BAD = sorted(KERNELS.glob("*_bad.py"))
GOOD = sorted(KERNELS.glob("*_good.py"))
MODES = {
    "1 thread": {"BLOCKSCOPE_THREADS": "1"},
    "2 threads": {"BLOCKSCOPE_THREADS": "2"},
    "8 threads": {"BLOCKSCOPE_THREADS": "8"},
    "step": {"TRITON_INTERPRET": "1"},
}


class Header:
    """What a kernel file says is to be found in it."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text().splitlines()
        self.expected, self.allowed = [], set()
        for line in lines:
            if line.startswith("# EXPECT:"):
                code, *pairs = line.split(":", 1)[1].split()
                self.expected.append((code, dict(pair.split("=", 1) for pair in pairs)))
            elif line.startswith("# ALLOW:"):
                self.allowed |= set(line.split(":", 1)[1].split())
        self.marked = {}  # code -> lines that end in a marker with it
        for number, line in enumerate(lines, 1):
            if marker := re.search(r"# <-- (.*)$", line):
                for code in marker.group(1).split():
                    self.marked.setdefault(code, set()).add(number)

    def mismatch(self, finding, code, pairs):
        """Why a finding is not the expected one; None when it is."""
        if finding["code"] != code:
            return f"code {finding['code']}"
        wrong_place = self.misplaced(finding)
        if wrong_place:
            return wrong_place
        programs = [",".join(map(str, finding.get("program", [])))]
        if "other" in finding:
            programs.append(",".join(map(str, finding["other"]["program"])))
        got = {
            "lane": str(finding.get("lane")),
            "tensor": finding.get("tensor"),
            "element": ",".join(map(str, finding.get("element", []))),
            "count": str(finding.get("count")),
            "severity": finding.get("severity"),
        }
        severity = pairs.get("severity", "error")
        if got["severity"] != severity:
            return f"severity {got['severity']}, expected {severity}"
        if "other_program" in pairs:
            if sorted(programs) != sorted([pairs["program"], pairs["other_program"]]):
                return f"programs {' and '.join(programs)}"
        elif "program" in pairs and programs[0] != pairs["program"]:
            return f"program {programs[0]}, expected {pairs['program']}"
        for key in ("lane", "tensor", "element", "count"):
            if key in pairs and got[key] != pairs[key]:
                return f"{key} {got[key]}, expected {pairs[key]}"
        return None

    def misplaced(self, finding):
        """Why the lines of a finding are not marked with its code; None when they are."""
        marked = self.marked.get(finding["code"], set())
        for site in filter(None, (finding, finding.get("other"))):
            if Path(site["file"]).name != self.path.name:
                return f"file {site['file']}"
            if site["line"] not in marked:
                return f"line {site['line']}, expected one of {sorted(marked)}"
        return None

    def complaints(self, findings):
        """All differences between what is expected and what was found."""
        said = []
        for code, pairs in self.expected:
            reasons = [self.mismatch(finding, code, pairs) for finding in findings]
            if None not in reasons:
                said.append(f"{code} {pairs} was not found: {reasons or 'no findings'}")
        known = self.allowed | {code for code, _ in self.expected}
        for finding in findings:
            if finding["code"] not in known:
                said.append(f"unexpected {finding['code']} in line {finding['line']}")
            elif wrong_place := self.misplaced(finding):
                said.append(f"{finding['code']}: {wrong_place}")
        return said


def environment(variables):
    kept = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "TRITON_DEBUG")}
    return {**kept, **variables}


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory, pytestconfig):
    """mode -> file name -> result of kernel_runner.py; a mode runs when it is first asked for.

    It runs the files that tests were chosen for (``-k``), not all of them.
    """
    folder, done = tmp_path_factory.mktemp("pairs"), {}
    chosen = [item for item in request.session.items if item.module is request.module]
    paths = {item.callspec.params.get("path") for item in chosen if hasattr(item, "callspec")}
    files = [path for path in (*BAD, *GOOD) if path in paths]
    limit_s = float(pytestconfig.getini("timeout")) - 20

    def results(mode):
        if mode not in done:
            output = folder / f"{mode.replace(' ', '_')}.jsonl"
            runner = Path(__file__).with_name("kernel_runner.py")
            command = [sys.executable, runner, output, *files]
            try:
                process = subprocess.run(
                    command,
                    env=environment(MODES[mode]),
                    capture_output=True,
                    text=True,
                    timeout=limit_s,
                )
                end = (process.returncode, process.stderr[-2000:])
            except subprocess.TimeoutExpired:
                end = ("not ended", f"after {limit_s} s")
            lines = [json.loads(line) for line in output.read_text().splitlines()]
            done[mode] = {Path(line["file"]).name: line for line in lines}
            done[mode]["exit"] = end
        return done[mode]

    return results


def result_of(runs, mode, path):
    results = runs(mode)
    assert path.name in results, f"not reached; the runner ended with {results['exit']}"
    return results[path.name]


def test_there_are_at_least_forty_pairs():
    assert len(BAD) >= 40
    twins = {path.name.removesuffix("_good.py") for path in GOOD}
    assert {path.name.removesuffix("_bad.py") for path in BAD} == twins


def test_every_bad_kernel_says_what_is_to_be_found():
    for path in BAD:
        header = Header(path)
        assert header.expected, path.name
        for code, _ in header.expected:
            assert header.marked.get(code), f"{path.name}: no line is marked"


def test_every_finding_code_has_a_page_and_a_bad_kernel():
    root = KERNELS.parents[1]
    definitions = (root / "core" / "finding_codes.def").read_text()
    codes = set(re.findall(r'^BLK_FINDING\(\w+, "([^"]+)"', definitions, re.MULTILINE))
    assert codes
    expected = {code for path in BAD for code, _ in Header(path).expected}
    assert codes <= expected
    assert codes == {p.stem for p in (root / "docs" / "findings").glob("*.md")} - {"README"}


@pytest.mark.parametrize("mode", MODES)
def test_the_runner_ends_well(runs, mode):
    """It does not where it runs under a sanitizer that has found something."""
    status, printed = runs(mode)["exit"]
    assert status == 0, printed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", BAD, ids=lambda p: p.stem)
def test_bad(runs, mode, path):
    result = result_of(runs, mode, path)
    assert result["error"] is None or "deadlock" in result["error"], result["error"]
    complaints = Header(path).complaints(result["findings"])
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", BAD, ids=lambda p: p.stem)
def test_the_whole_report_of_a_bad_kernel(runs, mode, path):
    # tests/kernels/README.md says how the expected text is written anew.
    assert result_of(runs, mode, path)["text"] + "\n" == path.with_suffix(".txt").read_text()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.stem)
def test_good(runs, mode, path):
    result = result_of(runs, mode, path)
    assert result["error"] is None, result["error"]
    assert [(f["code"], f["line"], f["message"]) for f in result["findings"]] == []


@pytest.mark.parametrize("path", BAD, ids=lambda p: p.stem)
def test_the_report_does_not_depend_on_the_mode_or_the_number_of_threads(runs, path):
    reports = [result_of(runs, mode, path)["findings"] for mode in MODES]
    # Every process has its tensors elsewhere. A stepped kernel does not know what a result is
    # assigned to.
    one, two, eight, step = (
        re.sub(r'0x[0-9a-f]{9,}|"variable": "[^"]*"', "", json.dumps(report)) for report in reports
    )
    assert one == two == eight == step


@pytest.mark.parametrize("is_atomic", [False, True])
def test_a_constexpr_decides_on_atomics_in_both_modes(is_atomic):
    """A stepped kernel with an atomic that a constexpr switches off is one without atomics."""
    import blockscope
    import blockscope.language as tl
    import numpy as np

    @blockscope.jit
    def shift(x_ptr, count_ptr, COUNTS: tl.constexpr, BLOCK: tl.constexpr):
        tl.static_print("compiled or stepped")
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if COUNTS:
            tl.atomic_add(count_ptr, 1, sem="release")
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets + 1))

    texts = []
    for step in (False, True):
        blockscope.set_interpret_mode(step)
        try:
            with blockscope.check("tsan") as report:
                x, count = np.arange(65, dtype=np.float32), np.zeros(1, np.int32)
                shift[(4,)](x, count, COUNTS=is_atomic, BLOCK=16)
        finally:
            blockscope.set_interpret_mode(False)
        texts.append(re.sub(r"launch: number \d+", "", report.text()))
    assert texts[0] == texts[1]
    assert ("the atomics of this kernel" in texts[0]) == is_atomic


def check_command(path, *options):
    return subprocess.run(
        [sys.executable, "-m", "blockscope", "check", *options, path],
        capture_output=True, text=True, env=environment({}), timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["forgotten_mask_load", "sum_into_one_cell"])
def test_the_command_reports_and_exits_with_66(name):
    path = KERNELS / f"{name}_bad.py"
    done = check_command(path, "--format", "json", "--checks", checks_of(path))
    assert done.returncode == 66, done.stderr
    assert Header(path).complaints(json.loads(done.stdout)) == []


def test_the_command_exits_with_0_for_a_warning():
    done = check_command(KERNELS / "same_value_flag_bad.py")
    assert done.returncode == 0, done.stderr
    assert "warning[race-same-value]" in done.stderr


def test_the_command_exits_with_0_for_a_good_kernel():
    done = check_command(KERNELS / "forgotten_mask_load_good.py", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
