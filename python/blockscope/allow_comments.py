"""Comments in kernels that allow findings: ``# blockscope: allow oob-load because REASON``.

A comment is for the statement that it stands behind or inside of, or, alone on its lines, for the
next one. A finding is allowed by its code, at the line that it is reported for.
"""

from __future__ import annotations

import io
import linecache
import os
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from blockscope import finding_codes

_OURS = re.compile(r"#\s*blockscope:\s*(.*)$")
_ALLOW = re.compile(r"allow\s+([\w-]+(?:\s*,\s*[\w-]+)*)\s+because\s+(\S.*)$")
_NO_CODE = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


@dataclass(frozen=True)
class Comment:
    """A comment of ours in ``line``, for the lines ``first`` to ``last``; it allows nothing where
    it has a ``problem``."""

    file: str
    line: int
    first: int
    last: int
    codes: tuple[str, ...]
    reason: str
    problem: str = ""

    def place(self) -> str:
        """File and line, as reports have them: below the present folder by the path from there."""
        return f"{self.file.removeprefix(os.getcwd() + os.sep)}:{self.line}"


def reason_for(file: str, line: int, code: str) -> str:
    """Why a finding is allowed; empty where no comment allows it."""
    for comment in comments_of(file):
        if comment.problem == "" and code in comment.codes and is_for(comment, line):
            return comment.reason
    return ""


def is_for(comment: Comment, line: int) -> bool:
    return comment.first <= line <= comment.last


def comments_of(file: str) -> tuple[Comment, ...]:
    """The comments of ours in a file, in order."""
    lines = linecache.getlines(file)
    known = _known.get(file)
    if known is None or known[0] is not lines:  # another list when the file was read again
        has_ours = any("blockscope:" in line for line in lines)
        known = _known[file] = lines, _comments_in(file, "".join(lines)) if has_ours else ()
    return known[1]


_known: dict[str, tuple[list[str], tuple[Comment, ...]]] = {}  # lines and comments, by file


def _comments_in(file: str, text: str) -> tuple[Comment, ...]:
    found = []
    comments: list[tuple[int, str]] = []  # of the statement that comes, or is being read
    first = 0  # its first line, 0 before it
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                comments.append((token.start[0], token.string))
            elif token.type == tokenize.NEWLINE:
                found += [_comment(file, each, first, token.start[0]) for each in comments]
                comments, first = [], 0
            elif token.type not in _NO_CODE and first == 0:
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError):  # no Python to its end: what came before counts
        pass
    return tuple(comment for comment in found if comment is not None)


def _comment(file: str, comment: tuple[int, str], first: int, last: int) -> Comment | None:
    line, text = comment
    ours = _OURS.search(text)
    if ours is None:
        return None
    allow = _ALLOW.match(ours[1])
    if allow is None:
        problem = f"found '{ours[1]}', expected 'allow CODE because REASON'"
        return Comment(file, line, first, last, (), "", problem)
    codes = tuple(code.strip() for code in allow[1].split(","))
    return Comment(file, line, first, last, codes, allow[2].strip(), _problem_of(codes))


def _problem_of(codes: tuple[str, ...]) -> str:
    problems = map(finding_codes.problem_of, codes)
    return next((problem for problem in problems if problem), "")


def within(file: str, first: int, last: int) -> Iterator[Comment]:
    """The comments for lines of a function."""
    for comment in comments_of(file):
        if first <= comment.first <= last:
            yield comment
