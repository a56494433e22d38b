"""The environment variables of Blockscope's own: the table is ``core/settings.def``.

Importing this module holds the environment to the table, so that a value that a variable may not
have is an error before the first kernel is made. Variables of Triton's are in ``knobs``.
"""

from __future__ import annotations

import os

from blockscope import _core

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


for _variable in TABLE:
    read(_variable)
