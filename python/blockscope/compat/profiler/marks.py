"""What marks parts of a profile: without effect, since there is never a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


class _Mark:
    """A context manager and a decorator."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return func(*args, **kwargs)

        return wrapper


class scope(_Mark):
    """A named part of a profile, with metrics of its own."""

    def __init__(self, name: str, metrics: dict[str, Any] | None = None) -> None:
        self.name, self.metrics, self.id = name, metrics, None


class cpu_timed_scope(scope):
    """A scope that also takes the time on the CPU."""

    def __init__(self, name: str, metrics: dict[str, Any] | None = None) -> None:
        super().__init__(name, metrics)
        if metrics and "cpu_time" in metrics:
            raise ValueError("The metric name 'cpu_time' is reserved.")


class state(_Mark):
    """A name for what is recorded meanwhile."""

    def __init__(self, name: str) -> None:
        self.name = name


class metadata_state(state):
    """The state in which metrics are computed."""

    def __init__(self, kernel_name: str | None = None) -> None:
        super().__init__(kernel_name or "")


def enter_scope(name: str, *, metrics: dict[str, Any] | None = None) -> None:
    """Begin a scope; gives its number, and None without a session."""


def exit_scope(name: str | None = None, *, metrics: dict[str, Any] | None = None) -> None:
    """End the scope that was begun last."""
