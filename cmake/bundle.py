"""Makes the folder and the archive of ``./dev bundle``: what runs on a GPU machine as it is.

The folder has the Python package with its extension module, the tests that need a GPU, examples and
benchmarks; ``env.sh`` puts them on the path and ``check.py`` says whether the machine will do.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from binary_check import C_LIBRARIES, wrong_in

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("python/blockscope", "python/blockscope_drop_in.py", "tests/gpu", "tests/python",
           "tests/fuzz/random_kernels", "tests/kernels", "examples", "benchmarks", "docs/findings",
           "docs/notes")  # fmt: skip
#: What the extension module may need of the machine.
LIBRARIES = C_LIBRARIES | {"libstdc++.so.6"}
GLIBC = (2, 36)  # of Debian 12; Ubuntu 24.04 has 2.39
LIMIT_MB = 40

ENV_SH = """# Source this: . bundle/env.sh
bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH="$bundle/python${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONDONTWRITEBYTECODE=1
"""

PYTEST_INI = """[pytest]
testpaths = tests/gpu
pythonpath = python
xfail_strict = true
addopts = -p no:cacheprovider
"""

README = """Blockscope for a GPU machine with Python 3.12, torch and CUDA's ptxas.

  . ./env.sh                                     puts the package on PYTHONPATH
  python check.py                                compiles a kernel; runs it where there is a GPU
  python -m pytest tests/gpu -q                  the tests that need a GPU
  EXAMPLE_DEVICE=cuda python -m blockscope run examples/softmax.py
  PYTHONPATH=tests/fuzz:$PYTHONPATH python -m random_kernels --on gpu --processes 14
                                                 random kernels against NumPy and the CPU
  python benchmarks/gpu.py --help                Blockscope, Triton and torch side by side
"""


def copy_files(output: Path) -> None:
    """Copy what git knows or would know of FOLDERS, so that no build or cache comes along."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *FOLDERS],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source, place = ROOT / name, output / name
        if source.is_file():  # not one that was removed and not yet committed
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place)


def try_out(output: Path) -> None:
    """Run check.py with this Python, whose environment has neither torch nor NumPy."""
    environment = {**os.environ, "PYTHONPATH": str(output / "python")}
    assemblers = sorted(ROOT.glob(".venv/lib/python3*/site-packages/nvidia/*/bin/ptxas"))
    if assemblers:
        environment.setdefault("TRITON_PTXAS_PATH", str(assemblers[-1]))
    environment["BLOCKSCOPE_CACHE"] = "0"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    subprocess.run([sys.executable, output / "check.py"], check=True, env=environment)


def pack(output: Path, archive: Path, options: str) -> int:
    """Write the archive; returns its bytes."""
    archive.unlink(missing_ok=True)
    with open(archive, "wb") as file:
        tar = subprocess.Popen(
            ["tar", "-C", output.parent, "--owner=0", "--group=0", "-c", output.name],
            stdout=subprocess.PIPE,
        )
        subprocess.run(["xz", "-T0", *options.split()], stdin=tar.stdout, stdout=file, check=True)
        if tar.wait() != 0:
            sys.exit(f"bundle: tar failed with status {tar.returncode}")
    return archive.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="where _core was built")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--xz", default="-3")
    options = parser.parse_args()
    output = options.output.resolve()
    modules = list((options.build / "python/blockscope").glob("_core.cpython-312-*.so"))
    if len(modules) != 1:
        sys.exit(f"bundle: {options.build} has {len(modules)} modules for Python 3.12, expected 1")
    if wrong := wrong_in(modules[0], LIBRARIES, GLIBC):
        sys.exit(f"bundle: {modules[0].name} cannot go to other machines: {wrong}")
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    copy_files(output)
    shutil.copy2(modules[0], output / "python/blockscope")
    shutil.copy2(Path(__file__).with_name("bundle_check.py"), output / "check.py")
    for name, text in (("env.sh", ENV_SH), ("pytest.ini", PYTEST_INI), ("README", README)):
        (output / name).write_text(text)
    try_out(output)
    size = pack(output, options.archive, options.xz)
    print(f"{options.output} and {options.archive}: {size / 1e6:.1f} MB, "
          f"the module {modules[0].stat().st_size / 1e6:.1f} MB")  # fmt: skip
    if size > LIMIT_MB * 1_000_000:
        sys.exit(f"bundle: the archive has {size / 1e6:.1f} MB, expected at most {LIMIT_MB}")


if __name__ == "__main__":
    main()
