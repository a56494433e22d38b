"""Where the viewer program ``blk-view`` is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from blockscope.cli.usage import UsageError

NAME = "blk-view"


def viewer_candidates() -> list[Path]:
    """Places to look at, best first: BLOCKSCOPE_VIEWER, beside _core, in the build folder, PATH."""
    places = []
    if named := os.environ.get("BLOCKSCOPE_VIEWER"):
        places.append(Path(named))
    package = Path(__file__).resolve().parents[1]
    folders = [package, package / "bin"]
    try:
        from blockscope import _core

        core = Path(_core.__file__).resolve().parent
        folders += [core, core / "bin", *core.parents[:3]]
    except (ImportError, TypeError, AttributeError):
        pass
    folders.append(package.parents[1] / "build" / "dev")
    for folder in folders:
        places += [folder / NAME, folder / "viz" / NAME, folder / "bin" / NAME]
    if found := shutil.which(NAME):
        places.append(Path(found))
    return places


def find_viewer() -> str:
    """The viewer's path. Errors: UsageError when there is none."""
    for place in viewer_candidates():
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    raise UsageError(
        f"the viewer '{NAME}' was not found; build it, or name it in BLOCKSCOPE_VIEWER"
    )
