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


def test_the_usage_of_dev_test_needs_no_build():
    done = subprocess.run([ROOT / "dev", "test", "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ./dev") and "--sanitize thread|address" in done.stdout
    assert all(line.startswith(("  test ", "    ")) for line in done.stdout.splitlines()[1:])
