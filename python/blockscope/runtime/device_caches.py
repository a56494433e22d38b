"""The compiled kernels of a function as files ask for them, by device and by the text of a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class KernelsByText(Mapping[str, Any]):
    """Compiled kernels, oldest first. The texts are those that hooks are given as ``key``."""

    def __init__(self, fn: Any) -> None:
        self._fn = fn

    def _by_text(self) -> dict[str, Any]:
        return {kernel.specialization.key: kernel for kernel in self._fn.kernels.values()}

    def __getitem__(self, key: str) -> Any:
        return self._by_text()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_text())

    def __len__(self) -> int:
        return len(self._fn.kernels)

    def clear(self) -> None:
        self._fn.forget_kernels()


class _ByDevice(Mapping[Any, Any]):
    """One table for all devices: a kernel runs on each one that it was compiled for."""

    def __init__(self, fn: Any) -> None:
        self._fn = fn

    def __iter__(self) -> Iterator[int]:
        return iter((0,) if self._fn.kernels else ())

    def __len__(self) -> int:
        return 1 if self._fn.kernels else 0

    def clear(self) -> None:
        self._fn.forget_kernels()


class DeviceCaches(_ByDevice):
    """``[device]`` gives the kernels, an empty table of keys, the target, and None for the back end
    and for what binds arguments."""

    def __getitem__(self, device: Any) -> Any:
        from blockscope.driver import driver

        return KernelsByText(self._fn), {}, driver.active.get_current_target(), None, None


class OldCaches(_ByDevice):
    """``[device]`` gives the kernels alone."""

    def __getitem__(self, device: Any) -> KernelsByText:
        return KernelsByText(self._fn)
