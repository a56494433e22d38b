"""The pages docs/findings/<code>.md, from the package or from the source tree."""

from __future__ import annotations

import difflib
from pathlib import Path

from blockscope.cli.usage import UsageError


def _folder() -> Path:
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "docs" / "findings", package.parents[1] / "docs" / "findings"):
        if folder.is_dir():
            return folder
    raise UsageError("the pages docs/findings/ were not found beside the package")


def codes() -> list[str]:
    """All codes that have a page."""
    return sorted(page.stem for page in _folder().glob("*.md") if page.stem.lower() != "readme")


def summaries() -> list[tuple[str, str]]:
    """Each code with what it means in one line: the title of its page."""
    rows = []
    for code in codes():
        with open(_folder() / f"{code}.md", encoding="utf-8") as page:
            rows.append((code, page.readline().removeprefix(f"# {code}:").strip()))
    return rows


def text_of(code: str) -> str:
    """The page of a code. Errors: UsageError, with the nearest code, for an unknown one."""
    code = code.strip().removeprefix("error[").removesuffix("]").lower()
    known = codes()
    if code not in known:
        near = difflib.get_close_matches(code, known, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"known are: {', '.join(known)}"
        raise UsageError(f"there is no finding code '{code}'; {hint}")
    return (_folder() / f"{code}.md").read_text(encoding="utf-8").rstrip("\n") + "\n"
