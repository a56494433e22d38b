"""The pages tell the truth: the README's report is exact, the op page lists every function."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_report_is_exact(tmp_path):
    text = (ROOT / "README.md").read_text()
    kernel, report = re.search(
        r"```python\n(.*?)```\n\n```\n\$ [^\n]*\n(.*?)```", text, re.S
    ).groups()
    (tmp_path / "add.py").write_text(kernel)
    done = subprocess.run(
        [Path(sys.executable).with_name("triton-san"), "asan", "python", "add.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 66
    assert done.stdout + done.stderr == report


def test_the_op_page_is_up_to_date():
    sys.path.insert(0, str(ROOT / "docs"))
    make_ops_page = importlib.import_module("make_ops_page")
    text = (ROOT / "docs" / "ops.md").read_text()
    stale = "docs/ops.md is not what the code says: run .venv/bin/python docs/make_ops_page.py"
    functions = re.compile(r"^\| `tl\.(\w+)` \| (?:yes|no) ", re.M)
    assert len(functions.findall(text)) > 100
    assert functions.findall(text) == functions.findall(make_ops_page.page()), stale
    assert make_ops_page.facts_table() in text, stale


def dev(lines, folder=ROOT):
    """Runs lines of bash behind those of ./dev, in a folder."""
    return subprocess.run(
        ["bash", "-c", f'source "$0" >/dev/null; cd "{folder}"; {lines}', ROOT / "dev"],
        capture_output=True,
        text=True,
    )


def test_the_newest_wheel_is_found_and_none_in_a_fresh_clone(tmp_path):
    (tmp_path / "CMakeLists.txt").write_bytes((ROOT / "CMakeLists.txt").read_bytes())
    done = dev(f'wheel_for "{sys.executable}"; echo found', tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "found\n", "")
    (tmp_path / "dist").mkdir()
    major, minor = sys.version_info[:2]
    name = f"dist/blockscope-$(own_release)-cp{major}{minor}"
    done = dev(
        f'touch -d "1 hour ago" "{name}-old.whl"; touch "{name}-new.whl" dist/x-other.whl;'
        f'wheel_for "{sys.executable}"',
        tmp_path,
    )
    assert done.stdout.endswith("-new.whl\n") and done.stdout.count("\n") == 1, done.stderr


def test_dev_never_ends_without_a_word():
    done = dev("cmd_inner() { local x; x=$(false | cat); }; cmd_inner; echo not reached")
    assert (done.returncode, done.stdout) == (1, "")
    assert "==> stopped in line" in done.stderr and "x=$(false | cat)" in done.stderr
    done = subprocess.run([ROOT / "dev", "biuld"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("\ndev: there is no command 'biuld'\n")


def test_tables_of_pages_are_whole():
    """A row behind an empty line is no row: it has to have the head of a table above it."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    assert len(pages) > 60
    for page in pages:
        lines, in_code = ["", *page.read_text().splitlines(), ""], False
        for number in range(1, len(lines) - 1):
            in_code ^= lines[number].startswith("```")
            begins = lines[number].startswith("|") and not lines[number - 1].startswith("|")
            if begins and not in_code:
                assert re.fullmatch(r"\|[-:| ]+\|", lines[number + 1]), f"{page}:{number}"


def test_the_usage_of_dev_test_needs_no_build():
    done = subprocess.run([ROOT / "dev", "test", "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ./dev") and "--sanitize thread|address" in done.stdout
    assert all(line.startswith(("  test ", "    ")) for line in done.stdout.splitlines()[1:])
