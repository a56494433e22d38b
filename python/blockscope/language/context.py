"""The kernel that a thread compiles or steps through now, for the functions that it calls."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from blockscope import user_warnings
from blockscope.language.bitcode import Library


class Kernel:
    """A kernel that is being compiled, or one program of a kernel that is stepped through.

    ``call(fn, args, kwargs)`` runs a nested @jit function in it. ``repeat(values, step)`` is a loop
    with one value of the same type for each of ``values``: ``step(values)`` returns the next ones
    and whether to go on (a scalar of int1); it runs once at least. ``target`` is the GPU's, None
    for the CPU. ``num_warps`` is that of the launch; ``asks_num_warps`` says whether the kernel has
    asked for it (`num_warps` below), so that its code is for this number only. ``libraries`` are
    those of bitcode whose functions the kernel may call. ``prints`` says whether
    ``tl.static_print`` prints. ``place()`` gives file, line and module of what is compiled now. In
    step mode ``program`` is the program (x, y, z) and ``runner`` its _core.StepRunner; both are
    None while a kernel is compiled.
    """

    __slots__ = (
        "asks_num_warps",
        "call",
        "libraries",
        "num_warps",
        "place",
        "prints",
        "program",
        "repeat",
        "runner",
        "target",
    )

    def __init__(
        self,
        call: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any],
        repeat: Callable[[list[Any], Callable[[list[Any]], tuple[list[Any], Any]]], list[Any]],
        *,
        target: Any = None,
        num_warps: int = 4,
        libraries: tuple[Library, ...] = (),
        prints: bool = True,
        place: Callable[[], tuple[str, int, str]] | None = None,
        program: tuple[int, int, int] | None = None,
        runner: Any = None,
    ) -> None:
        self.call = call
        self.repeat = repeat
        self.target = target
        self.num_warps = num_warps
        self.asks_num_warps = False
        self.libraries = libraries
        self.prints = prints
        self.place = place
        self.program = program
        self.runner = runner


class _Thread(threading.local):
    kernel: Kernel | None = None


_thread = _Thread()


def current() -> Kernel | None:
    """The kernel of this thread; None outside of kernels."""
    return _thread.kernel


def enter(kernel: Kernel | None) -> Kernel | None:
    """Make ``kernel`` the one of this thread; returns the one before, to enter again in the end."""
    before, _thread.kernel = _thread.kernel, kernel
    return before


def num_warps() -> int:
    """The ``num_warps`` of the launch that the kernel is compiled for or stepped through."""
    kernel = _thread.kernel
    if kernel is None:
        raise RuntimeError("there is no num_warps outside of kernels")
    kernel.asks_num_warps = True
    return kernel.num_warps


_warned: dict[Any, Any] = {}
"""What Python's filters note, so that a line warns once and not at each inlined call."""


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the kernel's line."""
    kernel = current()
    if kernel is None or kernel.place is None:  # a line of Python's, in step mode the kernel's
        user_warnings.warn(text, category)
    else:
        file, line, module = kernel.place()
        warnings.warn_explicit(text, category, file, line, module, registry=_warned)
