"""blockscope completion: shells complete our commands by what it prints."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("shtab")
BIN = Path(sys.executable).parent

BASH = """
source script.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_shtab_$(echo "$1" | tr - _)
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run(
            [BIN / "blockscope", "completion", shell], capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        (folder / f"script.{shell}").write_text(done.stdout)
    (folder / "kernel.py").write_text("")
    return folder


@pytest.mark.parametrize(
    "line, expected",
    [
        ("blockscope ch", ["check"]),
        ("blockscope check --wa", ["--watch"]),
        ("blockscope check --checks t", ["tsan"]),
        ("blockscope check --checks asan,un", ["asan,undefined"]),
        ("blockscope check --format h", ["html"]),
        ("blockscope check ker", ["kernel.py"]),
        ("blockscope check --baseline ker", ["kernel.py"]),
        ("blockscope explain oob-l", ["oob-load"]),
        ("blockscope compile --target sm_80,sm_90", ["sm_80,sm_90a"]),
        ("triton-san tsa", ["tsan"]),
        ("triton-san --write", ["--write-baseline"]),
    ],
)
def test_bash(folder, line, expected):
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", *line.split()], cwd=folder, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == expected, done.stderr


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish")
def test_fish(folder):
    def said(line):
        words = f"source script.fish; complete -C '{line}'"
        done = subprocess.run(["fish", "-c", words], cwd=folder, capture_output=True, text=True)
        return [each.split("\t")[0] for each in done.stdout.splitlines()]

    assert said("blockscope check --checks ts") == ["tsan"]
    assert said("blockscope ch") == ["check"]
    assert said("blockscope explain oob-l") == ["oob-load"]


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh")
def test_zsh(folder):
    """The script is read and names both commands; what it completes only a terminal shows."""
    words = 'autoload -U compinit; compinit -u -d dump; eval "$(cat script.zsh)"; '
    words += "print $_comps[blockscope] $_comps[triton-san]"
    done = subprocess.run(["zsh", "-f", "-c", words], cwd=folder, capture_output=True, text=True)
    assert done.stdout.split() == ["_shtab_blockscope", "_shtab_triton_san"], done.stderr


def test_without_shtab():
    code = (
        "import sys; sys.modules['shtab'] = None; from blockscope.cli import main; "
        "sys.exit(main(['completion', 'bash']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        "blockscope: completion needs shtab ('pip install shtab', or the extra 'completion')\n",
    )
