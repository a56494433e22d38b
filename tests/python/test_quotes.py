"""Code that the pages quote is real: every block of CONTRIBUTING.md and docs/architecture.md that
names a language stands, line by line, in the file that the page names last before it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("CONTRIBUTING.md", "docs/architecture.md")
_BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.M | re.S)
_PATH = re.compile(r"`([\w./]+/[\w.]+\.\w+)`")


def plain(text: str) -> str:
    """The lines without what they are indented by."""
    return "\n".join(line.strip() for line in text.splitlines())


def wrong_quotes(page: str) -> list[str]:
    """What is quoted, and does not stand where the page says."""
    wrong = []
    for block in _BLOCK.finditer(page):
        named = _PATH.findall(page[: block.start()])
        file = ROOT / named[-1] if named else ROOT
        if not file.is_file() or plain(block[2]) not in plain(file.read_text()):
            wrong.append(f"{named[-1] if named else 'no file'}:\n{block[2]}")
    return wrong


@pytest.mark.parametrize("page", PAGES)
def test_what_is_quoted_stands_in_the_code(page: str) -> None:
    text = (ROOT / page).read_text()
    if page == "CONTRIBUTING.md":
        assert len(_BLOCK.findall(text)) > 5
    assert wrong_quotes(text) == []


def test_what_is_made_up_is_found() -> None:
    assert wrong_quotes("as in `core/op_facts.def`:\n```cpp\nBLK_NOTHING(x)\n```\n")
    assert wrong_quotes("```cpp\nint x;\n```\n")
    assert not wrong_quotes('in `core/op_facts.def`:\n   ```cpp\n   "tl.dot", Dot,\n   ```\n')


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    top = {path.name for path in ROOT.iterdir()}
    named = [name for name in _PATH.findall(text) if name.split("/")[0] in top - {"build"}]
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_commit_that_adds_an_op_is_there() -> None:
    subject = re.search(r'The commit "([^"]+)" does it', (ROOT / "CONTRIBUTING.md").read_text())
    assert subject is not None
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    if len(log) < 10:
        pytest.skip("no git history here")
    assert subject[1] in log
