"""The trace of the viewer's tour: recorded at first use, from a kernel of examples/, and kept in
the user's cache."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from contextlib import ExitStack, redirect_stdout
from pathlib import Path

from blockscope.cli.script import Script
from blockscope.cli.usage import UsageError

NAME = "softmax_wrong.py"


def trace_of_tour(stack: ExitStack) -> tuple[str, bool]:
    """The path of the trace, and whether it is kept: where it cannot be, it goes with ``stack``.

    Errors: UsageError when it cannot be recorded.
    """
    script = _script()
    key = _key(script)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    kept = Path(home) / "blockscope" / "tour.h5"
    of = kept.with_suffix(".key")
    try:
        if kept.is_file() and of.read_text(encoding="utf-8") == key:
            return str(kept), True
    except (OSError, ValueError):
        pass
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        is_kept = os.access(kept.parent, os.W_OK)
    except OSError:
        is_kept = False
    if not is_kept:
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        kept = Path(folder) / "tour.h5"
    _record(script, str(kept))
    if is_kept:
        of.write_text(key, encoding="utf-8")
    return str(kept), is_kept


def _script() -> Path:
    """The example, from the package or from the source tree."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "examples", package.parents[1] / "examples" / "demo"):
        if (folder / NAME).is_file():
            return folder / NAME
    raise UsageError(f"the example {NAME} of the tour was not found beside the package")


def _key(script: Path) -> str:
    """What the trace depends on: the example and where it is, and the version that records."""
    from blockscope import _core

    parts = (_core.__version__, str(script), script.read_text(encoding="utf-8"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _record(script: Path, output: str) -> None:
    from blockscope.cli.traced import record
    from blockscope.drop_in import install_as_triton

    if importlib.util.find_spec("torch") is None:
        raise UsageError("the tour runs a kernel on tensors of torch, which is not installed")
    install_as_triton()
    words = sys.argv[:]
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            recorded = record(Script([str(script)]), output, ["asan"], {})
    finally:
        sys.argv[:] = words
    if recorded.status != 0 or recorded.launches == 0:
        raise UsageError(f"the trace of the tour could not be recorded from '{script}'")
