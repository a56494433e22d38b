"""A clone whose extension module is not there yet says so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "blockscope"


def test_a_package_without_its_module_says_what_to_run(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "blockscope", ignore=shutil.ignore_patterns("*.so"))
    # Without site packages, where an editable install points to the built one.
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import blockscope; from blockscope import _core"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: blockscope is not built") and "./dev build" in last
