"""What ptxas refuses: what is remembered of it, and what it says in the words of the user."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from blockscope.errors import OutOfResources, PTXASError
from blockscope.runtime.backends.cuda import tools

_TOO_FEW_REGISTERS = re.compile(
    r"Insufficient registers \((\d+)\) to compile instruction at line (\d+).*"
    r"register target of (\d+) or higher",
    re.DOTALL,
)

_OUTSIDE = re.compile(r"alloc|out of memory|no space", re.IGNORECASE)  # says nothing of the kernel

#: Errors of this process by ptxas and the key of the kernel: what is tuned is asked for again.
#: Without those that time or another process may have made (a killed ptxas).
_known: dict[tuple[str, str], str] = {}
_MOST = 1024
_lock = threading.Lock()


def remember(key: str, text: str) -> None:
    """Keep why a kernel is refused, if it would be again."""
    if not text.startswith("ptxas ended with status ") or _OUTSIDE.search(text):
        return
    with _lock:
        if len(_known) >= _MOST:
            _known.clear()
        _known[_program(), key] = text


def remembered(key: str) -> str | None:
    return _known.get((_program(), key))


def _program() -> str:
    """Looked at anew: somebody may have put another ptxas in the place of one that fails."""
    return tools.identity.__wrapped__(tools.ptxas())


def error_of(kernel: str, text: str) -> Exception:
    """The exception for what the compiler says of ptxas, which begins with that word."""
    if found := _TOO_FEW_REGISTERS.search(text):
        limit, line, required = (int(number) for number in found.groups())
        place = _place_of(text, line)
        where = f"{kernel}, {place}" if place else kernel
        return OutOfResources(required, limit, "registers of a thread", where)
    said = text.removeprefix("ptxas").lstrip(": ")
    if said.startswith("is too old"):
        path = tools.ptxas()
        version = ".".join(map(str, tools.release(path)))
        newer = "'pip install -U nvidia-cuda-nvcc' has a newer one, or set TRITON_PTXAS_PATH"
        return PTXASError(f"{kernel}: '{path}', release {version}, {said}; {newer}")
    return PTXASError(f"{kernel}: {said}")


def _place_of(text: str, line: int) -> str:
    """The user's line, "k.py:12", of a line of the PTX that the error names; or nothing."""
    path = re.search(r" on (\S+\.ptx)", text)
    try:
        ptx = Path(path[1]).read_text() if path else ""
    except OSError:
        return ""
    places = re.findall(r"^\s*\.loc\s+(\d+)\s+(\d+)", "\n".join(ptx.split("\n")[:line]), re.M)
    if not places:
        return ""
    file, number = places[-1]
    name = re.search(rf'^\s*\.file\s+{file}\s+"([^"]*)"', ptx, re.M)
    return f"{name[1]}:{number}" if name else ""
