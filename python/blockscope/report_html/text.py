"""Text of strangers as HTML: names of kernels, source lines, values."""

from __future__ import annotations

import html
import re

# What nobody sees, or what changes the order in which other characters are shown.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def escaped(text: object) -> str:
    """Safe between tags and in quoted attributes; characters that cannot be seen are named."""
    return html.escape(_UNSEEN.sub(lambda m: f"\\u{ord(m[0]):04x}", str(text)), quote=True)


def from_markdown(text: str) -> str:
    """The few forms that the pages of findings use: headings, code, lists, paragraphs."""
    parts = []
    for number, block in enumerate(re.split(r"^```.*\n?", text, flags=re.M)):
        if number % 2:
            parts.append(f"<pre>{escaped(block.rstrip())}</pre>")
        else:
            parts += [_paragraph(each.strip()) for each in re.split(r"\n\s*\n", block)]
    return "".join(parts)


def _paragraph(text: str) -> str:
    if not text:
        return ""
    if text.startswith("#"):
        return f"<h4>{inline(text.lstrip('#').strip())}</h4>"
    if text.startswith("- "):
        rows = re.split(r"^- ", text, flags=re.M)[1:]
        return "<ul>" + "".join(f"<li>{inline(row.strip())}</li>" for row in rows) + "</ul>"
    return f"<p>{inline(text)}</p>"


def inline(text: str) -> str:
    """Code and the words of links, which lead nowhere in a file of its own."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    codes = re.split(r"`([^`]*)`", words)
    return "".join(
        f"<code>{escaped(each)}</code>" if number % 2 else escaped(each)
        for number, each in enumerate(codes)
    )
