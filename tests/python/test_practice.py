"""The runner of public kernels (tests/practice), on a repository that is made here."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import gpu_rows
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
            start, end = torch.cuda.Event(True), torch.cuda.Event(enable_timing=True)
            start.record()
            _scale[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), factor, BLOCK, masked)
            end.record()
            assert start.elapsed_time(end) > 0
            return y
    """,
    "tools/sizes.py": "BLOCK = 64",
}
CASES = """
    import os, sys
    import blockscope
    blockscope.install_as_triton()
    import torch
    from pathlib import Path
    from practice import case, checkout, imports, modes, no_gpu

    no_gpu.pretend()
    repository = case.Repository("owner/tools", "0" * 40, {"tools": "."}, stand_ins={"others": {}})
    sizes = dict(small=dict(n=int(os.environ.get("N", 100))), production=dict(n=1000))

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
    if "BREAK" in os.environ:
        from practice.on_machine import machine_backend as backend

        def broken(kernel, machine_for=backend.machine_for):
            machine = machine_for(kernel)
            for instruction in machine.code:
                if instruction.opcode == "mul" and instruction.kind == "f32":
                    instruction.opcode = "add"
            return machine

        backend.machine_for = broken
    results = {}
    for each in repository.cases:
        for mode in sys.argv[3:] if each.name.startswith(os.environ.get("ONLY", "")) else ():
            try:
                results[f"{each.name} {mode}"] = modes.RUN[mode](each, root, "small", "cpu")
            except Exception as error:
                results[f"{each.name} {mode}"] = type(error).__name__
                if isinstance(error, AssertionError):
                    results[f"{each.name} {mode}"] += f": {error}"
    import json
    print(json.dumps([commit, results]))
"""


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def cloned(folder: Path) -> Path:
    clone = folder / "clones" / "owner+tools"
    for name, text in FILES.items():
        file = clone / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    git(clone, "init", "-q")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "m")
    return clone


def in_modes(clone: Path, *modes: str, **environment: str) -> Any:
    """The commit, and what the cases give in these modes, as "name mode"."""
    path = os.pathsep.join(filter(None, (str(PRACTICE), os.environ.get("PYTHONPATH"))))
    folders = [str(clone.parent), str(clone.parent.parent)]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CASES), *folders, *modes],
        env={**os.environ, "PYTHONPATH": path, **environment}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_cases_of_a_repository(tmp_path: Path) -> None:
    clone = cloned(tmp_path)
    commit, results = in_modes(clone, "cpu", "check")
    assert commit == git(clone, "rev-parse", "HEAD")
    assert results["right cpu"] == results["right check"] == ""
    wrong = "result differs in 99 of 100 elements, first at (1,): 3, expected 2"
    assert results["wrong cpu"] == results["wrong check"] == wrong
    assert results["outside cpu"] == "SanitizerError"
    assert "error[oob-load]" in results["outside check"]
    assert results["known cpu"] == results["known check"] == ""


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed")
def test_cases_run_on_the_machine_for_ptx(tmp_path: Path) -> None:
    _, results = in_modes(cloned(tmp_path), "ptx")
    assert results["right ptx"] == {
        "status": "passed", "why": "", "ran": 1, "sampled": [], "left": []
    }  # fmt: skip
    wrong = "result differs in 99 of 100 elements, first at (1,): 3, expected 2"
    assert results["wrong ptx"] == wrong
    assert results["outside ptx"].startswith("AssertionError: _scale: ")
    assert "an address outside global memory" in results["outside ptx"]
    why = "the kernel is wrong: oob-load,oob-store"
    assert results["known ptx"] == {"status": "skipped", "why": why}


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed")
def test_of_a_long_launch_a_sample_runs_on_the_machine(tmp_path: Path) -> None:
    clone = cloned(tmp_path)
    settings = {"N": "128000", "ONLY": "right", "PRACTICE_MACHINE_SECONDS": "1"}
    _, results = in_modes(clone, "ptx", **settings)
    row = results["right ptx"]
    assert (row["status"], row["ran"], row["left"]) == ("passed", 0, [])
    (sample,) = row["sampled"]
    assert sample.endswith(" of 2000") and 0 < int(sample.split()[1]) < 2000
    _, results = in_modes(clone, "ptx", BREAK="1", **settings)
    assert "elements that a sample of programs stores: " in results["right ptx"]


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
