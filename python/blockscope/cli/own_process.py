"""Python of our own in another process, which sees the modules that this command sees."""

from __future__ import annotations

import sys

#: Behind '-c' Python looks into the present folder first, where a user's ``types.py`` or ``nt.py``
#: would take the place of Python's own. A script puts its own folder there, as python does.
_WITHOUT_PRESENT_FOLDER = "import sys; sys.path[:1] == [''] and sys.path.pop(0); "


def python_words(code: str) -> list[str]:
    """The beginning of a command line: Python, and what it runs."""
    return [sys.executable, "-c", _WITHOUT_PRESENT_FOLDER + code]
