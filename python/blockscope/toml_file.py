"""Reading TOML, on Pythons without a reader too."""

from __future__ import annotations

from typing import Any


def parsed(file: str, text: bytes) -> dict[str, Any]:
    """The tables of a file with this text. Errors: ValueError that names the file."""
    try:
        return _parsed(text.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} cannot be read: {error}") from None


def _parsed(text: str) -> dict[str, Any]:
    try:
        import tomllib as toml
    except ImportError:  # Python 3.10
        try:
            import tomli as toml
        except ImportError:
            raise ValueError("Python 3.10 has no reader of TOML; pip install tomli") from None
    return toml.loads(text)
