"""The pages of docs/findings and docs/notes, from the package or from the source tree."""

from __future__ import annotations

from pathlib import Path

from blockscope import checks
from blockscope.cli.usage import UsageError, either, nearest


def _pages() -> dict[str, Path]:
    """The page of each code: of findings, then of what ``blockscope compile`` notes."""
    package = Path(__file__).resolve().parents[1]
    for docs in (package / "docs", package.parents[1] / "docs"):
        if (docs / "findings").is_dir():
            pages = [*docs.glob("findings/*.md"), *docs.glob("notes/*.md")]
            return {page.stem: page for page in pages if page.stem.lower() != "readme"}
    raise UsageError("the pages docs/findings/ were not found beside the package")


def codes() -> list[str]:
    """All codes that have a page."""
    return sorted(_pages())


def summaries() -> list[tuple[str, str]]:
    """Each code with what it means in one line: the title of its page."""
    rows = []
    for code, path in sorted(_pages().items()):
        with open(path, encoding="utf-8") as page:
            rows.append((code, page.readline().removeprefix(f"# {code}:").strip()))
    return rows


def of_checks(words: str) -> str:
    """What checks find, and their codes, for what ``--checks`` takes; empty for anything else."""
    try:
        names = checks.parse_checks(words)
    except ValueError:
        return ""
    titles = dict(summaries())
    texts = []
    for row in checks.table():
        if row["name"] and not {row["name"], row["alias"]}.isdisjoint(names):
            width = max(len(code) for code in row["codes"])
            lines = [f"  {code:<{width}}  {titles[code]}" for code in row["codes"]]
            texts.append(f"check {row['name']}: {row['help']}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(texts)


def page_or_nothing(code: str) -> str:
    """The page of a code; empty where there are no pages beside the package."""
    try:
        return text_of(code)
    except UsageError:
        return ""


def text_of(code: str) -> str:
    """The page of a code. Errors: UsageError, with the nearest code, for an unknown one."""
    code = code.strip().rpartition("[")[2].removesuffix("]").lower()
    pages = _pages()
    known = sorted(pages)
    if code not in known:
        parts = [each for each in known if len(code) > 2 and code in each]
        near = f"; did you mean {either(parts[:6])}?" if parts else nearest(code, known)
        more = near or "; 'blockscope explain' lists them"
        raise UsageError(f"there is no finding code '{code}'{more}")
    return pages[code].read_text(encoding="utf-8").rstrip("\n") + "\n"
