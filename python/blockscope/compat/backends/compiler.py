"""What a target is, and the base class of back ends, under Triton's module path."""

from __future__ import annotations

import sys
from typing import Any

from blockscope import _core
from blockscope.target import GPUTarget


class Language:
    """Front ends that a back end may accept."""

    TRITON = 0
    GLUON = 1


class BaseBackend:
    """A back end for one target. The CPU has no compile stages, so this only describes."""

    binary_ext = ""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cpu"

    def hash(self) -> str:
        return f"blockscope-{_core.__version__}-{self.target}"

    def parse_options(self, options: dict[str, Any]) -> Any:
        from types import SimpleNamespace

        defaults: dict[str, Any] = {
            "num_warps": 4,
            "num_stages": 3,
            "num_ctas": 1,
            "debug": False,
            "backend_name": self.target.backend,
        }
        return SimpleNamespace(**{**defaults, **options})


class _AttrsDescriptor:
    """Alignment facts of arguments, as older generated code spells them; carried, not used."""

    def __init__(self, arg_properties: Any = None, cls: Any = None, **kwargs: Any) -> None:
        self.arg_properties = arg_properties or {}
        self.cls = cls
        self.__dict__.update(kwargs)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> _AttrsDescriptor:
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        return {"arg_properties": self.arg_properties, "cls": self.cls}


_AttrsDescriptor.__name__ = _AttrsDescriptor.__qualname__ = "AttrsDescriptor"


def old_name(name: str, module: str) -> Any:
    """``AttrsDescriptor``, for the ``__getattr__`` of the modules that once had it: Triton has it
    no more, but files that an old torch has generated import it. torch itself would take a Triton
    that has it for an old one."""
    asks = sys._getframe(2).f_globals.get("__name__", "").partition(".")[0]
    if name == "AttrsDescriptor" and asks != "torch":
        return _AttrsDescriptor
    raise AttributeError(f"module '{module}' has no attribute '{name}'")


def __getattr__(name: str) -> Any:
    return old_name(name, __name__)


__all__ = ["BaseBackend", "GPUTarget", "Language"]
