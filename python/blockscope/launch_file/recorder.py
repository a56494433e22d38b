"""Recording launches: each is put into a file as it is before it runs."""

from __future__ import annotations

import linecache
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockscope import _core, checks, knobs
from blockscope.errors import LaunchFileError
from blockscope.frontend.globals_rule import allows_plain_variables
from blockscope.launch_file.container import Writer, are_equal, digest_of
from blockscope.launch_file.functions import Functions
from blockscope.launch_file.snapshot import Snapshot
from blockscope.launch_file.undefined_log import Undefined, UndefinedLog, logged
from blockscope.runtime import arguments, checked_repeats, hooks
from blockscope.runtime.autotuner import Autotuner
from blockscope.runtime.grid import size_of
from blockscope.runtime.ir_function import IRFunction

#: Codes of findings that are about tuning: no launch of a file shows them.
OF_TUNING = frozenset({"not-idempotent", "unchecked-configs"})

_ADDRESSES = "tl.int_to_ptr"
_MOST_COPIED = 2 << 30  # bytes


@dataclass
class _Pending:
    """A launch that is not in the file yet."""

    row: dict[str, Any]
    is_held: bool  # until it is known whether it is wanted
    data: dict[str, bytes] = field(default_factory=dict)  # what its row names, where it is held


@dataclass
class _Written:
    """Memory that was allocated without values: what kernels were given of it."""

    digest: str
    is_touched: bool = False  # a kernel has changed it


class Recorder:
    """Records launches into a file.

    With ``on_finding`` those only in which the open check finds something new, or that fail; with
    ``on_more`` those in which what that counts grows, or that fail. Of more than ``limit`` launches
    the rest is left out.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        keeps_values: bool = True,
        on_finding: bool = False,
        on_more: Callable[[], int] | None = None,
        limit: int = 1000,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._writer, self._keeps_values = writer, keeps_values
        self._is_choosing = on_finding or on_more is not None
        self._count = on_more or _findings
        self._limit, self._say = limit, say
        self._through: hooks.Interceptor | None = None
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._functions = Functions()
        self._blocks: dict[Any, int] = {}
        self._block_rows: list[dict[str, Any]] = []
        self._launches: list[dict[str, Any]] = []
        self._written: dict[tuple[int, int], _Written] = {}
        self._ir: dict[int, tuple[Any, str]] = {}
        self._log: UndefinedLog | None = None
        self._copies: dict[int, tuple[str, bytes]] = {}  # of what blocks held, with its name
        self._copied_bytes = 0
        self._tuned: int | None = None  # the number of the launch that is tuned for
        self._tried: set[Any] = set()  # kernels and constants that were timed
        self.recorded = self.refused = self.beyond_limit = 0

    @contextmanager
    def recording(self, through: hooks.Interceptor | None = None) -> Iterator[None]:
        """Inside, launches are recorded; those that only time a configuration, when they fail.
        ``through`` runs them in the place of the launch itself."""
        self._through = through
        tune = Autotuner._tune

        def tuning(own: Any, args: Any, kwargs: Any, configs: Any, key: Any) -> None:
            outer, self._tuned = self._tuned, _core.next_launch_number()
            try:
                tune(own, args, kwargs, configs, key)
            finally:
                self._tuned = outer

        with ExitStack() as stack:
            self._log = stack.enter_context(logged())
            stack.enter_context(hooks.intercepted(self._launch))
            Autotuner._tune = tuning  # type: ignore[method-assign, assignment]
            try:
                yield
            finally:
                Autotuner._tune = tune  # type: ignore[method-assign]

    def head(self) -> dict[str, Any]:
        """What ``launches.json`` says."""
        lines = {
            file: {str(number): text for number, text in sorted(kept.items())}
            for file, kept in self._functions.lines.items()
        }
        return {
            "environment": _environment(),
            "files": lines,
            "functions": self._functions.rows,
            "blocks": self._block_rows,
            "launches": self._launches,
        }

    # -- one launch -------------------------------------------------------------------------------

    def _launch(
        self, run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
    ) -> Any:
        if self._through is not None:
            run = _passed_on(self._through, run)
        if warmup:
            return run(fn, grid, args, kwargs, warmup=True)
        is_ours = os.getpid() == self._owner and not checked_repeats.is_repeating()
        if not is_ours or (self._is_tuning and not self._is_first(fn, kwargs)):
            return run(fn, grid, args, kwargs)
        if self.recorded >= self._limit:
            self.beyond_limit += 1
            return run(fn, grid, args, kwargs)
        if not fn.pre_run_hooks:
            return self._record(run, fn, args, grid, kwargs, lambda go: go())
        # They may change the arguments: what they leave is what the kernel gets.
        return self._record(run, fn, args, grid, kwargs, lambda go: _behind_hooks(fn, go))

    @property
    def _is_tuning(self) -> bool:
        return self._tuned is not None

    def _is_first(self, fn: Any, kwargs: dict[str, Any]) -> bool:
        """Whether a configuration of a kernel was not timed yet."""
        key = id(fn), *(repr(v) for v in kwargs.values() if isinstance(v, int | float | str))
        is_first = key not in self._tried
        self._tried.add(key)
        return is_first

    def _record(
        self, run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], when: Any
    ) -> Any:
        pending: list[_Pending] = []
        captured: list[_Pending] = []

        def capture() -> None:
            try:
                with self._lock, checks.unwatched():
                    found = self._captured(run, fn, args, grid, dict(kwargs))
                    captured.extend([found] if found is not None else [])
                    if found is not None and not found.is_held:
                        self._keep(found)
                    elif found is not None:
                        pending.append(found)
            except LaunchFileError as reason:
                self.refused += 1
                self._say(f"a launch of '{fn.__name__}' is not recorded: {reason}")

        before = self._count()
        undo = when(capture)
        number = _core.next_launch_number()
        try:
            result = run(fn, grid, args, kwargs)
        except BaseException:
            for each in pending:
                self._keep(each)
            raise
        finally:
            if undo is not None:
                undo()
            if _core.next_launch_number() == number and captured:
                _core.number_next_launch(number + 1)  # on a GPU a launch takes none by itself
        if self._count() > before:
            for each in pending:
                self._keep(each)
        return result

    def _captured(
        self, run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any]
    ) -> _Pending | None:
        """The launch; None for one that runs nothing, or whose arguments are wrong."""
        given = dict(kwargs)
        options = arguments.take_options(fn, kwargs)
        try:
            bound = arguments.bind(fn, args, kwargs)
            size = size_of(fn, grid, bound, arguments.add_named_options(fn, bound, options))
        except (TypeError, ValueError, KeyError):
            return None  # the launch says it
        if size is None or 0 in size:
            return None
        if self._log is not None:
            self._log.before_launch()
        number = self._functions.function(fn)
        ir, why_not = self._ir_of(run, fn, args, size, given)
        snapshot = Snapshot(
            self._functions, has_addresses=_ADDRESSES in ir, keeps_values=self._keeps_values
        )
        constants = {p.name for p in fn.params if p.is_constexpr}
        values = [
            [name, snapshot.value(value, name, is_constexpr=name in constants)]
            for name, value in bound.items()
        ]
        row: dict[str, Any] = {
            "number": self._tuned if self._is_tuning else _core.next_launch_number(),
            "kernel": number,
            "grid": list(size),
            "step": bool(knobs.runtime.interpret),
            "settings": _settings(),
            "options": [
                [name, self._functions.value(value, f"option '{name}'")]
                for name, value in options.items()
            ],
            "arguments": values,
            "ir": None,
        }
        pending = _Pending(row, self._is_choosing or self._is_tuning)
        if ir:
            row["ir"] = self._data(pending, ir.encode())
        else:
            row["no_ir"] = why_not
        row["memory"] = [
            self._memory(pending, *each) for each in snapshot.memory(self._block, self._log)
        ]
        row["behind"] = snapshot.behind
        return pending

    def _ir_of(
        self, run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any]
    ) -> tuple[str, str]:
        """The block IR of the launch's kernel, or why there is none."""
        if isinstance(fn, IRFunction):
            return fn.block_ir, ""
        # They are for launches; the one that captures is among them.
        users_hooks, fn.pre_run_hooks = fn.pre_run_hooks, []
        try:
            with knobs.runtime.scope():
                knobs.runtime.interpret = False
                kernel = run(fn, grid, args, {**kwargs, "arch": "cpu"}, warmup=True)
                if id(kernel) not in self._ir:
                    self._ir[id(kernel)] = kernel, kernel.asm["tl"]
                return self._ir[id(kernel)][1], ""
        except Exception as error:  # the launch says it, or it runs step by step only
            return "", f"{type(error).__name__}: {error}"
        finally:
            fn.pre_run_hooks = users_hooks

    # -- memory -----------------------------------------------------------------------------------

    def _block(self, key: Any, size: int, alignment: int) -> int:
        number = self._blocks.setdefault((key, size, alignment), len(self._blocks))
        if number == len(self._block_rows):
            self._block_rows.append({"bytes": size, "alignment": alignment})
        return number

    def _memory(
        self, pending: _Pending, block: int, data: memoryview | None, said: dict[str, Any]
    ) -> dict[str, Any]:
        row: dict[str, Any] = {"block": block, "data": None}
        if data is not None:
            row["data"] = self._contents(pending, block, data)
        if (undefined := said.get("undefined")) is not None:
            row["undefined"] = self._undefined(pending, block, undefined, row["data"])
        if "addresses" in said:
            row["addresses"] = said["addresses"]
        return row

    def _undefined(
        self, pending: _Pending, block: int, found: Undefined, digest: str | None
    ) -> dict[str, Any]:
        before = self._written.setdefault((block, found.generation), _Written(digest or ""))
        before.is_touched |= digest is None or before.digest != digest
        file, line, column, function = found.place
        if text := linecache.getline(file, line):
            self._functions.line(file, line, text.rstrip("\r\n"))
        return {
            "mask": self._data(pending, found.packed()),
            "allocated_at": [file, line, column, function],
            "generation": found.generation,
            "touched": before.is_touched,
        }

    def _contents(self, pending: _Pending, block: int, data: memoryview) -> str:
        """The name of what a block holds. Launches come with the same large tensors again and
        again, and to compare them is ten times as fast as to hash them."""
        name, copy = self._copies.get(block, ("", b""))
        if name and len(copy) == len(data) and are_equal(data, copy):
            return name
        name = self._data(pending, data)
        self._copied_bytes -= len(copy)
        self._copies.pop(block, None)
        if not pending.is_held and self._copied_bytes + len(data) <= _MOST_COPIED:
            self._copies[block] = name, bytes(data)
            self._copied_bytes += len(data)
        return name

    def _data(self, pending: _Pending, data: bytes | memoryview) -> str:
        if not pending.is_held:
            return self._writer.add(data)
        copy = bytes(data)
        name = digest_of(copy)
        pending.data[name] = copy
        return name

    def _keep(self, pending: _Pending) -> None:
        with self._lock:
            for data in pending.data.values():
                self._writer.add(data)
            self._launches.append(pending.row)
            self.recorded += 1

    @property
    def kernels(self) -> int:
        """So many functions were launched."""
        return len({row["kernel"] for row in self._launches})


def _behind_hooks(fn: Any, capture: Callable[[], None]) -> Callable[[], None]:
    """Have ``capture`` called behind the other hooks of a kernel; gives what takes it away."""

    def hook(*args: Any, **kwargs: Any) -> None:
        capture()

    fn.pre_run_hooks.append(hook)
    return lambda: fn.pre_run_hooks.remove(hook)


def _passed_on(through: hooks.Interceptor, run: Any) -> Any:
    def passed_on(fn: Any, grid: Any, args: Any, kwargs: Any, warmup: bool = False) -> Any:
        return through(run, fn, args, grid, kwargs, warmup)

    return passed_on


def _findings() -> int:
    """How many findings the open checks have."""
    return sum(
        len(session) for session in checks.active() if isinstance(session, checks.CheckReport)
    )


def _settings() -> dict[str, Any]:
    """The settings that change what a kernel computes."""
    return {
        "allow_non_constexpr_globals": allows_plain_variables(),
        "instrumentation_mode": knobs.compilation.instrumentation_mode or "",
        "fp32_default": knobs.language.fp32_default,
        "default_fp_fusion": bool(knobs.language.default_fp_fusion),
        "debug": bool(knobs.runtime.debug),
    }


def _environment() -> dict[str, str]:
    """What the launches ran with, for people."""
    found = {
        "blockscope": _core.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "numpy": np.__version__,
        "script": " ".join(sys.argv),
    }
    if (torch := sys.modules.get("torch")) is not None:
        found["torch"] = str(torch.__version__)
    return found
