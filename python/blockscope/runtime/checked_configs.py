"""Under a check, every configuration of an autotuned kernel runs, not the chosen one alone.

The chosen one is launched as without a check. Then each other one that differs on the CPU is
launched once, on the arguments as they were, and in the end these hold what the chosen one left.
All of them are one launch of the script, and have its number.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from blockscope import _core, checks
from blockscope.runtime import checked_repeats
from blockscope.runtime.config import Config
from blockscope.runtime.contents import CannotPutBack, Contents
from blockscope.runtime.tried_configs import SKIPPED

_POINTERS_FROM_MEMORY = "tl.int_to_ptr"


def waiting(autotuner: Any, key: Any) -> list[checks.CheckReport]:
    """The open checks that have not seen all configurations of a kernel for a key."""
    reports = [each for each in checks.active() if isinstance(each, checks.CheckReport)]
    return [report for report in reports if (autotuner, key) not in report.autotuned]


def run(
    autotuner: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    key: Any,
    reports: list[checks.CheckReport],
) -> Any:
    """Launch as without a check, then try the other configurations; gives what the launch gave."""
    with checks.one_launch():  # what other threads launch must not be put back
        tried = _Trials(autotuner, args, kwargs, key)
        repeats = checked_repeats.prepare(autotuner, args, kwargs, reports)
        result = tried.launch()
        if repeats is not None:
            repeats.compare(autotuner.cache[key])
        for report in reports:
            report.autotuned.add((autotuner, key))
        try:
            tried.try_others(repeats)
        except CannotPutBack as reason:
            _note(reports, autotuner.jit_function, tried, reason)
    return result


class _Trials:
    """One launch of an autotuned kernel: the configurations that differ on the CPU."""

    def __init__(self, autotuner: Any, args: Any, kwargs: dict[str, Any], key: Any) -> None:
        self._autotuner, self._args, self._kwargs, self._key = autotuner, args, kwargs, key
        self._named = autotuner.nargs
        self._pruned = autotuner.prune_configs(kwargs)
        if len(self._pruned) == 1:
            autotuner.cache.setdefault(key, self._pruned[0])
        chosen = autotuner.cache.get(key)
        self.count = len(self._differing([chosen] if chosen else []))
        self.left: list[Config] = []
        self._number = _core.next_launch_number()
        self._before: Contents | None = None
        self._reason: CannotPutBack | None = None
        if self.count > 1:
            try:
                self._before = self._contents()
            except CannotPutBack as reason:
                self._reason = reason

    def launch(self) -> Any:
        """With the chosen configuration, or the first that runs."""
        autotuner, cache = self._autotuner, self._autotuner.cache
        if self._key in cache:
            result = autotuner._launch(self._args, self._kwargs, cache[self._key])
        else:
            result = autotuner._run_first_valid(self._args, self._kwargs, self._pruned, self._key)
        self.left = self._differing([cache[self._key]])[1:]
        return result

    def try_others(self, repeats: checked_repeats.Repeats | None) -> None:
        """Errors: CannotPutBack when not all of them can be tried."""
        if self.left and self._reason is not None:
            raise self._reason
        if self._before is None:  # there are no others
            return
        after, next_number = self._contents(), _core.next_launch_number()
        try:
            while self.left:
                _core.number_next_launch(self._number)
                self._before.put_back()
                self._try(self.left[0])
                config = self.left.pop(0)
                if repeats is not None:
                    repeats.compare(config)
        finally:
            _core.number_next_launch(next_number)
            after.put_back()

    def _differing(self, first: list[Config]) -> list[Config]:
        """The first of those that run the same on the CPU."""
        is_seen = any(name in self._autotuner.arg_names for name in Config._OPTIONS)
        by_identity: dict[Any, Config] = {}
        for config in (*first, *self._pruned):
            by_identity.setdefault(config._identity() if is_seen else config.cpu_identity(), config)
        return list(by_identity.values())

    def _contents(self) -> Contents:
        if not all(isinstance(session, checks.CheckReport) for session in checks.active()):
            raise CannotPutBack("a trace holds the chosen one alone", "check without a trace")
        if not hasattr(self._autotuner.fn, "warmup"):
            raise CannotPutBack("what it stores is not known before it runs")
        return Contents((*self._args, *self._kwargs.values()))

    def _ir(self, config: Config) -> str:
        launch = {**self._kwargs, **config.all_kwargs(), "arch": "cpu", "grid": (1,)}
        launch.pop("warmup", None)
        with suppress(*SKIPPED):
            kernel = self._autotuner.fn.warmup(*self._args, **launch)
            return "" if kernel is None else kernel.asm["tl"]  # None: a hook keeps it from running
        return ""

    def _try(self, config: Config) -> None:
        def ready() -> None:  # a hook may have given descriptors the shape of a block
            if _POINTERS_FROM_MEMORY in self._ir(config):
                raise CannotPutBack("the kernel takes pointers from memory")

        self._autotuner.nargs = self._named
        try:
            with suppress(*SKIPPED):
                self._autotuner._kernel_call(self._args, self._kwargs, config, ready)()
        finally:
            self._autotuner.nargs = None


def _note(
    reports: list[checks.CheckReport], fn: Any, tried: _Trials, reason: CannotPutBack
) -> None:
    """Tell reports that configurations were left unchecked."""
    code, checked = fn.fn.__code__, tried.count - len(tried.left)
    message = (
        f"{checked} of {tried.count} configurations of '{fn.__name__}' "
        f"{'was' if checked == 1 else 'were'} checked: {reason}"
    )
    for report in reports:
        report.handle.note(
            "unchecked-configs",
            fn.__name__,
            code.co_filename,
            code.co_firstlineno,
            message,
            reason.hint,
        )
