"""Signatures of functions, annotations of classes.

Python 3.14 makes annotations when they are asked for, and fails when one of them names what is not
there, such as an import for type checkers only. Here such a name stays a ``ForwardRef``.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

_SIGNATURE: dict[str, Any] = {}
_ANNOTATIONS: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    from annotationlib import Format

    _SIGNATURE["annotation_format"] = _ANNOTATIONS["format"] = Format.FORWARDREF


def signature_of(function: Any) -> inspect.Signature:
    return inspect.signature(function, **_SIGNATURE)


def annotations_of(cls: type) -> dict[str, Any]:
    """Of the class itself, not of its bases."""
    found = inspect.get_annotations(cls, **_ANNOTATIONS)
    return {name: as_written(annotation) for name, annotation in found.items()}


def as_written(annotation: Any) -> Any:
    """The text of an annotation that names what was not there, any other one itself."""
    return getattr(annotation, "__forward_arg__", annotation)
