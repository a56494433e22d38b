"""One set of meta-parameters and launch options."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from blockscope.runtime.options import LAUNCH_OPTIONS


class Config:
    """One set of meta-parameters and launch options for ``autotune`` to try.

    ``pre_hook`` is called with all arguments by name before each launch with this configuration.
    """

    _OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        ir_override: str | None = None,
        num_cpu_threads: int | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(kwargs, dict):
            raise TypeError(f"Config got {type(kwargs).__name__} as kwargs, expected a dict")
        for name in options:
            if name not in LAUNCH_OPTIONS:
                near = difflib.get_close_matches(name, LAUNCH_OPTIONS, 1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise TypeError(
                    f"Config got '{name}', expected a launch option; what the kernel takes goes "
                    f"into the dict{hint}"
                )
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_ctas = num_ctas
        self.num_stages = num_stages
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override
        self.num_cpu_threads = num_cpu_threads
        self.options = options

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__({})  # type: ignore[misc]
        self.__dict__.update(state)

    def all_kwargs(self) -> dict[str, Any]:
        """The meta-parameters and the launch options, as keywords of the launch."""
        chosen = dict(self.kwargs)  # without a loop: each launch of an autotuned kernel is here
        if self.num_warps is not None:
            chosen["num_warps"] = self.num_warps
        if self.num_ctas is not None:
            chosen["num_ctas"] = self.num_ctas
        if self.num_stages is not None:
            chosen["num_stages"] = self.num_stages
        if self.maxnreg is not None:
            chosen["maxnreg"] = self.maxnreg
        if self.ir_override is not None:
            chosen["ir_override"] = self.ir_override
        if self.num_cpu_threads is not None:
            chosen["num_cpu_threads"] = self.num_cpu_threads
        if self.options:
            chosen.update(
                {name: value for name, value in self.options.items() if value is not None}
            )
        return chosen

    def __str__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self._fields().items())

    __repr__ = __str__

    def _fields(self) -> dict[str, Any]:
        return {
            **self.kwargs,
            **{
                name: getattr(self, name)
                for name in ("num_warps", "num_ctas", "num_stages", "maxnreg")
            },
        }

    def _identity(self) -> tuple[Any, ...]:
        values = tuple(sorted((k, hashable(v)) for k, v in self.all_kwargs().items()))
        return (values, self.pre_hook)

    def __hash__(self) -> int:
        return hash(self._identity())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()

    def cpu_identity(self) -> tuple[Any, ...]:
        """What decides the speed on the CPU."""
        values = {**self.kwargs, "num_cpu_threads": self.num_cpu_threads}
        return (tuple(sorted((k, hashable(v)) for k, v in values.items())), self.pre_hook)


def hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value
