"""Kernels some of whose meta-parameters are computed: ``heuristics``, and what wraps a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from blockscope.runtime.arguments import AskedArguments
from blockscope.runtime.jit import JITFunction, KernelInterface


class Wrapper(KernelInterface):
    """What ``autotune`` and ``heuristics`` share: they wrap a kernel and answer as it does."""

    fn: Any

    @property
    def jit_function(self) -> Any:
        """The kernel below all wrappers."""
        fn: Any = self
        while isinstance(fn, Wrapper):
            fn = fn.fn
        return fn

    def __getattr__(self, name: str) -> Any:
        # Only names that this object lacks come here: src, params, cache_key, ...
        if name.startswith("__") or "fn" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__dict__["fn"], name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


class Heuristics(Wrapper):
    """A kernel some of whose meta-parameters are computed from its arguments at each launch."""

    def __init__(
        self, fn: Any, arg_names: Sequence[str], values: dict[str, Callable[..., Any]]
    ) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        self.values = values

    def _computed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        named, kernel = dict(zip(self.arg_names, args, strict=False)), self.jit_function
        for name, rule in self.values.items():
            given = AskedArguments(f"the heuristic '{name}'", kernel, named)
            given.update(kwargs)
            value = rule(given)
            if isinstance(value, dict) and name in value:
                kwargs.update(value)  # some write {"BLOCK": lambda args: {"BLOCK": 128}}
            else:
                kwargs[name] = value
        return kwargs

    def run(self, *args: Any, **kwargs: Any) -> Any:
        launch = self._computed(args, kwargs)
        fn = self.fn
        if launch.get("warmup") or "grid" not in launch or not isinstance(fn, JITFunction):
            return fn.run(*args, **launch)
        launch.pop("warmup", None)
        return fn[launch.pop("grid")](*args, **launch)  # without further layers of Python

    def warmup(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn.warmup(*args, **self._computed(args, kwargs))


def heuristics(values: dict[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Decorator above ``@jit``: compute meta-parameters from the arguments of the launch."""
    for name, rule in values.items():
        if not callable(rule):
            raise TypeError(
                f"heuristics got {type(rule).__name__} for '{name}', expected a function of the "
                "arguments"
            )

    def decorate(fn: Any) -> Heuristics:
        if not hasattr(fn, "run") or not hasattr(fn, "arg_names"):
            raise TypeError(
                f"heuristics got {type(fn).__name__}, expected a kernel: put @triton.jit below it"
            )
        return Heuristics(fn, fn.arg_names, values)

    return decorate
