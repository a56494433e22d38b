"""The environment variables of Blockscope's own: the table is ``core/settings.def``.

Importing this module holds the environment to the table, so that a value that a variable may not
have is an error before the first kernel is made, and a variable that is not in the table is a
warning. Variables of Triton's are in ``knobs``.
"""

from __future__ import annotations

import difflib
import os

from blockscope import _core, user_warnings

_PREFIX = "BLOCKSCOPE_"

TABLE = {info.variable: info for info in _core.settings()}


def parse(variable: str, text: str) -> bool | int | str:
    """What a text means for a variable; an empty one stands for the default.

    Errors: ValueError when the variable may not have this text.
    """
    value = TABLE[variable].value_of(text)
    if value is None:
        raise ValueError(
            f"environment variable {variable} is '{text}', expected {TABLE[variable].expected}"
        )
    return value


def read(variable: str) -> bool | int | str:
    """What the environment says now. Errors: as ``parse``."""
    return parse(variable, os.environ.get(variable, ""))


def unknown() -> dict[str, str]:
    """The variables of the environment that look like ours and are none, each with what to say."""
    said = {}
    ours = {name.removeprefix(_PREFIX): name for name in TABLE}
    for name in sorted(os.environ):
        if name.startswith(_PREFIX) and name not in TABLE:
            near = difflib.get_close_matches(name.removeprefix(_PREFIX), ours, 1)
            hint = (
                f"did you mean {ours[near[0]]}?" if near else "docs/settings.md has those that are"
            )
            said[name] = f"environment variable {name} is not known; {hint}"
    return said


for _variable in TABLE:
    read(_variable)
for _said in unknown().values():
    user_warnings.warn(_said)
