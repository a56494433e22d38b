"""Source lines with what happened at them."""

from __future__ import annotations

import builtins
import functools
import io
import keyword
import linecache
import os
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from blockscope.report_html.text import escaped

_BEFORE, _AFTER = 3, 2  # lines around a place
_TAB = 8
_KINDS = {tokenize.STRING: "s", tokenize.COMMENT: "c", tokenize.NUMBER: "m"}
_MIDDLES = [
    getattr(tokenize, name, -1) for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
]


@dataclass(frozen=True)
class Mark:
    """A place, and what to say of it. ``is_main``: the place of the finding."""

    file: str
    line: int
    column: int
    said: str
    is_main: bool = False


def mark_of(place: dict[str, Any], said: str, *, is_main: bool = False) -> Mark:
    return Mark(place["file"], place["line"], place["column"], said, is_main)


#: What else a file may be called: by notebooks, the cell that it is.
names: list[Callable[[str], str | None]] = []


def name_of(file: str) -> str:
    """Files below the present folder by their path from there."""
    for name in names:
        if found := name(file):
            return found
    return file.removeprefix(os.getcwd() + os.sep)


def shown(marks: Iterable[Mark], folder: str) -> str:
    """The lines of these places with those around them, file by file. ``folder`` is where relative
    paths begin."""
    by_file: dict[str, list[Mark]] = {}
    for mark in dict.fromkeys(marks):
        by_file.setdefault(mark.file, []).append(mark)
    several = len(by_file) > 1
    parts = []
    for file, of_file in by_file.items():
        head = f'<div class="file">{escaped(name_of(file))}</div>' if several else ""
        parts.append(head + _lines(of_file, _text_of(file, folder)))
    return "".join(parts)


def line_of(place: dict[str, Any], folder: str) -> str:
    """The text of one line, without what stands before and behind it."""
    lines = _text_of(place["file"], folder)
    return lines[place["line"] - 1].strip() if 0 < place["line"] <= len(lines) else ""


def _text_of(file: str, folder: str) -> list[str]:
    return linecache.getlines(file) or linecache.getlines(os.path.join(folder, file))


def _lines(marks: list[Mark], lines: list[str]) -> str:
    """A block of code; where the file cannot be read, what is said alone."""
    by_line: dict[int, list[Mark]] = {}
    for mark in sorted(marks, key=lambda each: (each.line, each.column)):
        by_line.setdefault(mark.line, []).append(mark)
    if not all(0 < number <= len(lines) for number in by_line):
        said = (f"line {each.line}: {each.said}" for each in marks)
        return "".join(f'<div class="unread">{escaped(each)}</div>' for each in said)
    colors = _colors("".join(lines))
    wanted = sorted(
        {
            number
            for at in by_line
            for number in range(max(1, at - _BEFORE), min(len(lines), at + _AFTER) + 1)
            if number in by_line or _is_shown(lines, number, at)
        }
    )
    rows, last = [], wanted[0] - 1
    for number in wanted:
        if number != last + 1:
            rows.append('<div class="gap">⋯</div>')
        last = number
        here = by_line.get(number, [])
        kind = "main" if any(m.is_main for m in here) else "also" if here else ""
        text = _colored(lines[number - 1].rstrip("\r\n"), colors.get(number, []))
        rows.append(f'<div class="line {kind}"><span class="n">{number}</span>{text}</div>')
        rows += [_caret(mark, lines[number - 1]) for mark in here]
    return f'<div class="code">{"".join(rows)}</div>'


def _is_shown(lines: list[str], number: int, at: int) -> bool:
    """Whether there is more than empty lines from one beside a place outwards."""
    outwards = range(at - _BEFORE, number + 1) if number < at else range(number, at + _AFTER + 1)
    return any(lines[n - 1].strip() for n in outwards if 0 < n <= len(lines))


def _caret(mark: Mark, line: str) -> str:
    before = line.encode(errors="replace")[: max(0, mark.column - 1)].decode(errors="replace")
    width = len(before.expandtabs(_TAB))
    kind = "main" if mark.is_main else "also"
    return (
        f'<div class="caret {kind}"><span class="n"></span>{" " * width}<b>^</b> '
        f"<span>{escaped(mark.said)}</span></div>"
    )


@functools.lru_cache(maxsize=8)
def _colors(text: str) -> dict[int, list[tuple[int, int, str]]]:
    """By line the parts that have a colour, as begin, end and kind; none in what is no Python."""
    lengths = [len(line) for line in text.split("\n")]
    colors: dict[int, list[tuple[int, int, str]]] = {}
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = "" if before == "." else _kind_of(token)
            before = token.string
            for row in range(token.start[0], token.end[0] + 1) if kind else ():
                begin = token.start[1] if row == token.start[0] else 0
                end = token.end[1] if row == token.end[0] else lengths[row - 1]
                colors.setdefault(row, []).append((begin, end, kind))
    except (tokenize.TokenError, SyntaxError):
        pass
    return colors


def _kind_of(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        if keyword.iskeyword(token.string):
            return "k"
        return "b" if token.string in vars(builtins) else ""
    return "s" if token.type in _MIDDLES else _KINDS.get(token.type, "")


def _colored(line: str, spans: list[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for begin, end, kind in spans:
        if begin < at:  # tokens of another file than the one that is here now
            continue
        parts.append(_expanded(line, at, begin))
        parts.append(f'<span class="{kind}">{_expanded(line, begin, end)}</span>')
        at = end
    return "".join(parts) + _expanded(line, at, len(line))


def _expanded(line: str, begin: int, end: int) -> str:
    """A part of a line, its tabs as blanks."""
    before = line[:begin].expandtabs(_TAB)
    return escaped(line[:end].expandtabs(_TAB)[len(before) :])
