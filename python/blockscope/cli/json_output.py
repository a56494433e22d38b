"""Standard output for a document alone, such as JSON: what the script prints, at its end too, goes
to stderr."""

from __future__ import annotations

import os
import sys


class JsonOutput:
    """Takes standard output from the process and its children, from when it is made."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def write(self, text: str) -> None:
        """Write the document, and end the output."""
        with self._stream:
            self._stream.write(text.rstrip("\n") + "\n" if text else "")
