"""The kernel of README.md gives the report of README.md."""

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
