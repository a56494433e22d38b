"""The runner of public kernels (tests/practice), on a repository that is made here."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch")
PRACTICE = Path(__file__).resolve().parents[1] / "practice"

FILES = {
    "tools/__init__.py": "raise ImportError('the packages of a repository are not run')",
    "tools/kernels/scale.py": """
        import torch, triton, triton.language as tl
        from others.registry import register  # not there
        from tools.sizes import BLOCK

        @triton.jit
        def _scale(x, y, n, factor, B: tl.constexpr, MASKED: tl.constexpr):
            at = tl.program_id(0) * B + tl.arange(0, B)
            mask = at < n if MASKED else None
            tl.store(y + at, tl.load(x + at, mask=mask) * factor, mask=mask)

        @register
        def scale(x, factor, masked=True):
            assert x.is_cuda
            y = torch.empty(x.shape, device="cuda")
            _scale[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), factor, BLOCK, masked)
            return y
    """,
    "tools/sizes.py": "BLOCK = 64",
}
CASES = """
    import sys
    import blockscope
    blockscope.install_as_triton()
    import torch
    from pathlib import Path
    from practice import case, checkout, imports, modes, no_gpu

    no_gpu.pretend()
    repository = case.Repository("owner/tools", "0" * 40, {"tools": "."}, stand_ins={"others": {}})
    sizes = dict(small=dict(n=100), production=dict(n=1000))

    def add(name, factor, masked=True, **more):
        @repository.case("tools/kernels/scale.py", "_scale", **sizes, name=name, **more)
        def build(file, device, n):
            x = torch.arange(n, dtype=torch.float32)
            return lambda: file.scale(x, factor, masked), lambda: x.double() * 2

    add("right", 2.0)
    add("wrong", 3.0)
    add("outside", 2.0, masked=False)
    add("known", 2.0, masked=False, finds="oob-load,oob-store")
    root, commit = checkout.checkout(Path(sys.argv[1]), repository, Path(sys.argv[2]))
    imports.install(root, repository)
    results = {}
    for each in repository.cases:
        for mode in ("cpu", "check"):
            try:
                results[f"{each.name} {mode}"] = modes.RUN[mode](each, root, "small", "cpu")
            except Exception as error:
                results[f"{each.name} {mode}"] = type(error).__name__
    import json
    print(json.dumps([commit, results]))
"""


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_cases_of_a_repository(tmp_path: Path) -> None:
    clone = tmp_path / "clones" / "owner+tools"
    for name, text in FILES.items():
        file = clone / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    git(clone, "init", "-q")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "m")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CASES), str(clone.parent), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(PRACTICE)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    commit, results = json.loads(done.stdout.splitlines()[-1])
    assert commit == git(clone, "rev-parse", "HEAD")
    assert results["right cpu"] == results["right check"] == ""
    wrong = "result differs in 99 of 100 elements, first at (1,): 3, expected 2"
    assert results["wrong cpu"] == results["wrong check"] == wrong
    assert results["outside cpu"] == "SanitizerError"
    assert "error[oob-load]" in results["outside check"]
    assert results["known cpu"] == results["known check"] == ""


def test_all_cases_load_and_what_is_said_of_them_is_of_cases():
    code = (
        "import blockscope; blockscope.install_as_triton()\n"
        "from practice import cases\n"
        "from practice.found_by_all import FOUND\n"
        "there = {f'{r.name}/{c.name}' for r in map(cases.load, cases.names()) for c in r.cases}\n"
        "assert there and set(FOUND) <= there, set(FOUND) - there\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PRACTICE, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr


LEAVES_A_FILE = """#!{python}
import json, os, pathlib, sys

if "practice.listed" in sys.argv:
    case = dict(module="tools", repository="owner/tools", name="scale", file="", kernels="")
    print(json.dumps([case]))
else:
    left = list(pathlib.Path(".").iterdir())
    pathlib.Path("tuned.json").write_text("of the kernel's autotuner")
    row = dict(end="scale", seconds=0, status="passed", why=f"in {{os.getcwd()}}, {{left}} there")
    print("PRACTICE " + json.dumps(row))
"""


def test_cases_run_in_an_empty_folder_that_goes_with_them(tmp_path: Path) -> None:
    (tmp_path / "clones" / "owner+tools").mkdir(parents=True)
    python, results = tmp_path / "python", tmp_path / "results.json"
    python.write_text(LEAVES_A_FILE.format(python=sys.executable))
    python.chmod(0o755)
    for _ in range(2):
        subprocess.run(
            [sys.executable, str(PRACTICE / "run.py"), "clones", "--modes", "cpu"]
            + ["--python", "./python", "--json", str(results)],
            cwd=tmp_path, check=True, timeout=60,
        )  # fmt: skip
        why = json.loads(results.read_text())["owner/tools/scale"]["cpu"]["why"]
        folder = Path(why.removeprefix("in ").partition(",")[0])
        assert why == f"in {folder}, [] there"
        assert folder.is_absolute() and not folder.exists() and tmp_path not in folder.parents


WRITES_BESIDE_ITSELF = """
from pathlib import Path
import triton, triton.language as tl
from foreign_worker import empty

@triton.jit
def copy(x, y):
    tl.store(y, tl.load(x))

def case_copy():
    Path("tuned.json").write_text("of the kernel's autotuner")
    copy[(1,)](empty(1), empty(1))
"""


def test_kernels_of_others_are_timed_in_a_folder_that_goes_with_them(tmp_path: Path) -> None:
    (tmp_path / "cases.py").write_text(WRITES_BESIDE_ITSELF)
    code = (
        "import sys, foreign\n"
        "lines = foreign.lines_of('static', 'blockscope', sys.executable, *sys.argv[1:])\n"
        "print([line['kernel'] for line in lines])\n"
    )
    here = tmp_path / "here"
    here.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "cases.py"), "", str(tmp_path)],
        cwd=here, env={**os.environ, "PYTHONPATH": str(PRACTICE.parents[1] / "benchmarks")},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.strip() == "['copy']", done.stderr
    assert not list(here.iterdir()) and not list(tmp_path.glob("**/tuned.json"))
