"""What a target is, and the base class of back ends, under Triton's module path."""

from __future__ import annotations

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


class AttrsDescriptor:
    """Alignment facts of arguments, as older generated code spells them; carried, not used."""

    def __init__(self, arg_properties: Any = None, cls: Any = None, **kwargs: Any) -> None:
        self.arg_properties = arg_properties or {}
        self.cls = cls
        self.__dict__.update(kwargs)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AttrsDescriptor:
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        return {"arg_properties": self.arg_properties, "cls": self.cls}


__all__ = ["AttrsDescriptor", "BaseBackend", "GPUTarget", "Language"]
