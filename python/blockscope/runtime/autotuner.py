"""Choosing a kernel's meta-parameters: ``autotune``.

On a GPU all configurations are compiled at once, on all processors, then timed one by one; those
that need more than the device has are left out, and one that takes a third more than the
best in its first five runs is not run again. On the CPU ``num_warps``, ``num_stages``, ``num_ctas``
and ``maxnreg`` change nothing, so the built-in timer times configurations that differ only in them
once. Every configuration is warmed up and timed for some milliseconds, at least once;
one that is four times slower than the best when it is warmed up is not timed again. In step mode,
and while a check or a trace is active, nothing is timed: the first configuration that runs is the
best one. A check tries the others too (``checked_configs``).

One thread tunes at a time, since what runs beside a run changes its time. What belongs to one call
of a kernel (its arguments, saved copies) is kept for each thread.
"""

from __future__ import annotations

import functools
import inspect
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from blockscope import _core, checks, knobs, user_warnings
from blockscope.errors import AutotunerError, OutOfResources, PTXASError
from blockscope.process_lock import ProcessLock
from blockscope.runtime import checked_configs, tried_arguments, tried_configs
from blockscope.runtime.arguments import parameters_text
from blockscope.runtime.config import Config, hashable
from blockscope.runtime.jit import JITFunction
from blockscope.runtime.tried_configs import SKIPPED
from blockscope.runtime.wrapper import Heuristics, Wrapper, heuristics

# Others of our modules are imported when something is tuned, so that kernel files start quickly.

__all__ = [
    "Autotuner",
    "AutotunerError",
    "Config",
    "Heuristics",
    "OutOfResources",
    "PTXASError",
    "autotune",
    "heuristics",
]

_FAILED = [float("inf")] * 3

_tuning = ProcessLock()

_text = functools.lru_cache(maxsize=None)(str)  # of a dtype: torch takes its time to make it


class _Call(threading.local):
    """What an autotuner keeps of the call that a thread is in."""

    def __init__(self) -> None:
        self.nargs: dict[str, Any] | None = None  # positional arguments by name
        self.copies: dict[str, Any] = {}  # arguments to put back after a run
        self.best_ms = float("inf")  # of the configurations timed so far
        self.is_on_gpu = False  # whether the launch that is tuned for goes to a GPU


class Autotuner(_core.Launchable, Wrapper):
    """A kernel that runs with the fastest of its configurations, chosen once for each key."""

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config] | None,
        key: Sequence[str],
        reset_to_zero: Iterable[str] | None,
        restore_value: Iterable[str] | None,
        pre_hook: Callable[..., Any] | None = None,
        post_hook: Callable[..., Any] | None = None,
        prune_configs_by: dict[str, Any] | None = None,
        warmup: int | None = None,
        rep: int | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
    ) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        self.configs = list(configs) if configs else [Config({})]
        for config in self.configs:
            if not isinstance(config, Config):
                raise TypeError(
                    f"autotune got {type(config).__name__} among 'configs', expected triton.Config"
                )
        self._names: tuple[list[Config], dict[str, Config]] = [], {}
        self.keys = [key] if isinstance(key, str) else list(key)
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.configs_timings: dict[Config, list[float]] = {}
        self.bench_time: float | None = None
        self.best_config: Config = self.configs[0]
        self.cache_results = cache_results or knobs.autotuning.cache
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self._call = _Call()
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or self._reset_and_save
        self.post_hook = post_hook or self._restore
        self.base_fn = self.fn
        while not inspect.isfunction(self.base_fn) and hasattr(self.base_fn, "fn"):
            self.base_fn = self.base_fn.fn
        self._read_pruning(prune_configs_by or {})
        self._warn_of_unknown_keys()
        self._do_bench = do_bench
        self.num_warmups = warmup
        self.num_reps = rep
        self.use_cuda_graph = use_cuda_graph
        if warmup is not None or rep is not None or use_cuda_graph:
            warnings.warn(
                "autotune's 'warmup', 'rep' and 'use_cuda_graph' are deprecated, use 'do_bench'",
                DeprecationWarning,
                stacklevel=3,
            )
        if do_bench is None and (warmup is not None or rep is not None):
            from blockscope import testing

            self._do_bench = lambda call, quantiles: testing.do_bench(
                call, 25 if warmup is None else warmup, 100 if rep is None else rep,
                quantiles=quantiles,
            )  # fmt: skip

    @property
    def nargs(self) -> dict[str, Any] | None:
        """The positional arguments, by name, of the call that this thread is in."""
        return self._call.nargs

    @nargs.setter
    def nargs(self, value: dict[str, Any] | None) -> None:
        self._call.nargs = value

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_call"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _call=_Call())

    def _read_pruning(self, by: dict[str, Any]) -> None:
        for name in by.keys() - {"perf_model", "top_k", "early_config_prune"}:
            # Triton passes over it, and public files name one that an old version had.
            user_warnings.warn(
                f"autotune of '{self.base_fn.__name__}' has '{name}' in 'prune_configs_by', which "
                "prunes nothing; expected perf_model, top_k or early_config_prune"
            )
        self.perf_model = by.get("perf_model")
        self.configs_top_k = by.get("top_k", 1.0)
        self.early_config_prune = by.get("early_config_prune")

    # --- launches that C++ repeats (python/src/tuned_launcher.h) ----------------------------------

    def _bind(self, grid: Any) -> Callable[..., Any]:
        """``self[grid]``, when C++ is first asked for it."""
        fn = self.fn
        own = type(self).run is Autotuner.run and type(self)._launch is Autotuner._launch
        if not own or not isinstance(fn, JITFunction) or fn.runs_otherwise:
            return Wrapper.__getitem__(self, grid)
        launcher = _core.TunedLauncher(
            self._run_on, self._choice, vars(self), fn, fn._launcher, self.arg_names, self.keys
        )
        self.bind_by(launcher)
        return self[grid]

    def _run_on(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **{"grid": grid, "warmup": False, **kwargs})

    def _choice(self, *args: Any, **kwargs: Any) -> Any:
        """What a launch with these arguments has just been made with: its key in ``cache``, the
        configuration, its hook, its keywords. None for what may be something else next time."""
        key, config = None, None
        if len(self.configs) == 1:
            config = self.configs[0]
        else:
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            key = self.tuning_key(kwargs)
            self.nargs = None
            config = self.cache.get(key)
        return (
            (key, config, config.pre_hook, config.all_kwargs()) if type(config) is Config else None
        )

    # --- hooks that keep arguments as they were while configurations are tried --------------------

    def _reset_and_save(self, arguments: dict[str, Any], reset_only: bool = False) -> None:
        kernel = self.base_fn.__name__
        for _, value in tried_arguments.named(
            arguments, self.reset_to_zero, "reset_to_zero", kernel
        ):
            tried_arguments.fill_zero(value)
        if not reset_only:
            chosen = tried_arguments.named(arguments, self.restore_value, "restore_value", kernel)
            self._call.copies = {name: tried_arguments.clone(value) for name, value in chosen}

    def _restore(self, arguments: dict[str, Any], exception: Exception | None = None) -> None:
        for name, copy in self._call.copies.items():
            tried_arguments.copy_into(arguments[name], copy)
        self._call.copies = {}

    # --- timing -----------------------------------------------------------------------------------

    @property
    def do_bench(self) -> Callable[..., Any]:
        from blockscope.driver import CPUDriver, driver

        if self._do_bench is None and not self._call.is_on_gpu:
            return CPUDriver().get_benchmarker()
        return self._do_bench or driver.active.get_benchmarker()

    def _kernel_call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        config: Config,
        ready: Callable[[], None] = lambda: None,
    ) -> Callable[[], Any]:
        """A function that launches once with ``config``, with all hooks around it; ``ready`` is
        called when those before the launch have been."""
        launch = self._with_chosen(kwargs, config)
        arguments = {**(self.nargs or {}), **launch}

        def call() -> Any:
            if config.pre_hook:
                config.pre_hook(arguments)
            self.pre_hook(arguments)
            try:
                ready()
                result = self.fn.run(*args, **launch)
            except Exception as error:
                self.post_hook(arguments, exception=error)
                raise
            self.post_hook(arguments, exception=None)
            return result

        return call

    def _bench(self, *args: Any, config: Config, **meta: Any) -> list[float]:
        """Median, 20 % and 80 % quantiles of the time in ms; infinite when it cannot run.

        Public code derives from this class and calls this method, so its signature is Triton's.
        """
        if knobs.autotuning.print:
            print(f"autotuning '{self.base_fn.__name__}' with {config}")
        call = self._kernel_call(args, meta, config)
        try:
            timings = None
            if self._do_bench is None:
                timings = tried_configs.first_times_if_slow(
                    call, self._call.best_ms, self._call.is_on_gpu
                )
            timings = timings or self.do_bench(call, quantiles=(0.5, 0.2, 0.8))
        except SKIPPED as error:
            if knobs.autotuning.print:
                print(f"autotuning failed: {error}")
            return list(_FAILED)
        return list(timings) if isinstance(timings, list | tuple) else [timings] * 3

    def _bench_all(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], configs: list[Config]
    ) -> dict[Config, list[float]]:
        measured: dict[tuple[Any, ...], list[float]] = {}
        timings: dict[Config, list[float]] = {}
        self._call.best_ms = float("inf")
        self._call.is_on_gpu = tried_configs.go_to_gpu(args, kwargs)
        if self._call.is_on_gpu:
            tried_configs.compile_all(self.fn, args, kwargs, configs)
        # A user's timer is asked for every configuration; ours knows what the CPU ignores.
        merges = self._do_bench is None and not self._call.is_on_gpu
        for config in configs:
            identity = config.cpu_identity() if merges else config._identity()
            if identity not in measured:
                measured[identity] = self._bench(*args, config=config, **kwargs)
                self._call.best_ms = min(self._call.best_ms, measured[identity][0])
            timings[config] = measured[identity]
        return timings

    # --- running ----------------------------------------------------------------------------------

    def _warn_of_unknown_keys(self) -> None:
        """Triton passes over them, and one choice then holds for all sizes."""
        for name in self.keys:
            if name not in self.arg_names and len(self.configs) > 1:
                user_warnings.warn(
                    f"autotune of '{self.base_fn.__name__}' has '{name}' in 'key', which is no "
                    f"parameter and changes nothing ({parameters_text(self.arg_names, name)}"
                )

    def tuning_key(self, kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """What a choice holds for: the values of the key arguments and the dtypes of all."""
        named = self.nargs or {}
        if not kwargs.keys().isdisjoint(self.arg_names):
            arguments = {**named, **kwargs}
            named = {name: arguments[name] for name in self.arg_names if name in arguments}
        key = [hashable(named[name]) for name in self.keys if name in named]
        for value in named.values():
            if type(value) is not int and hasattr(value, "dtype"):
                key.append(_text(value.dtype))
        return tuple(key)

    def _with_chosen(self, kwargs: dict[str, Any], config: Config) -> dict[str, Any]:
        """The keywords of a launch with ``config``. Errors: ValueError where both give one."""
        chosen = config.all_kwargs()
        launch = {**kwargs, **chosen}
        if len(launch) != len(kwargs) + len(chosen) or not chosen.keys().isdisjoint(
            self.nargs or ()
        ):
            self._refuse(kwargs, dict.fromkeys(chosen, config))
        return launch

    def _refuse(self, kwargs: dict[str, Any], chosen: dict[str, Config]) -> None:
        """Errors: ValueError for an argument that has the name of one in ``chosen``."""
        for given in (self.nargs or {}, kwargs):
            if not chosen.keys().isdisjoint(given):
                name = min(chosen.keys() & given.keys())
                raise ValueError(
                    f"'{self.base_fn.__name__}' was launched with '{name}', which autotune "
                    f"chooses (config: {chosen[name]}); leave it out of the launch"
                )

    def _chosen_names(self) -> dict[str, Config]:
        """All names that configurations give, each with the first one that does."""
        configs, names = self._names
        if configs != self.configs:  # a user may have put others there
            names = {name: c for c in reversed(self.configs) for name in c.all_kwargs()}
            self._names = list(self.configs), names
        return names

    def run(self, *args: Any, **kwargs: Any) -> Any:
        self.nargs = nargs = dict(zip(self.arg_names, args, strict=False))
        names = self._chosen_names()
        if not (names.keys().isdisjoint(nargs) and names.keys().isdisjoint(kwargs)):
            self._refuse(kwargs, names)
        if len(self.configs) == 1:
            return self._launch(args, kwargs, self.configs[0])
        key = self.tuning_key(kwargs)
        if checks.active() and not kwargs.get("warmup"):
            reports = checked_configs.waiting(self, key)
            if reports:
                return checked_configs.run(self, args, kwargs, key, reports)
        if key not in self.cache:
            configs = self.prune_configs(kwargs)
            if len(configs) == 1:
                self.cache[key] = configs[0]
            elif kwargs.get("warmup"):
                return self._launch(args, kwargs, configs[0])
            elif not tried_configs.times_count():
                return self._run_first_valid(args, kwargs, configs, key)
            else:
                with _tuning:
                    if key not in self.cache:
                        with tried_configs.uncounted():
                            self._tune(args, kwargs, configs, key)
        return self._launch(args, kwargs, self.cache[key])

    def _launch(self, args: tuple[Any, ...], kwargs: dict[str, Any], config: Config) -> Any:
        launch = self._with_chosen(kwargs, config)
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**(self.nargs or {}), **launch})
        try:
            return self.fn.run(*args, **launch)
        finally:
            self.nargs = None

    def _run_first_valid(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], configs: list[Config], key: Any
    ) -> Any:
        """Launch with the first configuration that the kernel accepts."""
        nargs = self.nargs
        number = _core.next_launch_number()
        for config in configs:
            self.nargs = nargs
            _core.number_next_launch(number)  # which one that does not run has taken
            try:
                result = self._launch(args, kwargs, config)
            except SKIPPED as error:
                last = error
                continue
            self.cache[key] = config
            return result
        raise AutotunerError(
            f"none of the {len(configs)} configurations of '{self.base_fn.__name__}' runs; "
            f"the last one failed with: {last}"
        )

    def _tune(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], configs: list[Config], key: Any
    ) -> None:
        stored = self._stored_timings(configs, key)
        start = time.perf_counter()
        timings = stored.read() if stored else None
        hit = timings is not None
        if timings is None:
            timings = self._bench_all(args, kwargs, configs)
            self.bench_time = time.perf_counter() - start
            if stored:
                stored.write(timings)
        self.configs_timings = timings
        best = min(timings, key=lambda config: timings[config][0])
        if timings[best][0] == float("inf"):
            raise AutotunerError(
                f"none of the {len(configs)} configurations of '{self.base_fn.__name__}' runs"
            )
        self.cache[key] = best
        self.pre_hook({**(self.nargs or {}), **kwargs, **best.all_kwargs()}, reset_only=True)
        if knobs.autotuning.print and not hit:
            print(
                f"autotuning '{self.base_fn.__name__}' for key {key} took {self.bench_time:.2f} s; "
                f"best: {best}"
            )
        if knobs.autotuning.listener is not None:
            knobs.autotuning.listener(
                fn=self.jit_function,
                key=key,
                best_config=best,
                configs_timings=timings,
                duration=None if hit else self.bench_time,
                cache_hit=hit,
            )

    def _stored_timings(self, configs: list[Config], key: Any) -> Any:
        """Where timings are kept on disk; None when they are not, as with hooks in a config."""
        if not self.cache_results or not key or any(config.pre_hook for config in configs):
            return None
        from blockscope.runtime.stored_timings import StoredTimings

        return StoredTimings(self.jit_function, configs, key)

    def prune_configs(self, kwargs: dict[str, Any]) -> list[Config]:
        """The configurations that ``prune_configs_by`` leaves for these arguments."""
        configs = self.configs
        if self.early_config_prune:
            configs = list(self.early_config_prune(configs, self.nargs, **kwargs))
            if not configs:
                raise AutotunerError(
                    "No valid autotuner configs after pruning. `early_config_prune` should return "
                    "at least one config."
                )
        if not self.perf_model:
            return configs
        top_k = self.configs_top_k
        if isinstance(top_k, float) and top_k <= 1.0:
            top_k = max(1, int(len(configs) * top_k))
        elif not isinstance(top_k, int):
            raise TypeError(f"top_k is {top_k!r}, expected a whole number, or a share up to 1.0")
        if len(configs) <= top_k:
            return configs
        estimates = {
            config: self.perf_model(**(self.nargs or {}), **kwargs, **config.all_kwargs())
            for config in configs
        }
        return sorted(estimates, key=lambda config: estimates[config])[:top_k]

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Compile for every configuration without running."""
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        self._refuse(kwargs, self._chosen_names())
        try:
            return [
                self.fn.warmup(*args, **self._with_chosen(kwargs, config))
                for config in self.prune_configs(kwargs)
            ]
        finally:
            self.nargs = None


def autotune(
    configs: Sequence[Config],
    key: Sequence[str] = (),
    prune_configs_by: dict[str, Any] | None = None,
    reset_to_zero: Iterable[str] | None = None,
    restore_value: Iterable[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
) -> Callable[[Any], Autotuner]:
    """Decorator above ``@jit``: run with the fastest of ``configs`` for each value of ``key``.

    Errors: AutotunerError when no configuration runs.

    The kernel runs many times while it is tuned. ``reset_to_zero`` names arguments to clear before
    each run, ``restore_value`` names arguments to put back after each. ``prune_configs_by`` has any
    of ``early_config_prune(configs, named_args, **kwargs)``, ``perf_model(**args)`` and ``top_k``.
    ``cache_results`` keeps the timings on disk between processes.
    """

    def decorate(fn: Any) -> Autotuner:
        if not hasattr(fn, "run") or not hasattr(fn, "arg_names"):
            name = getattr(fn, "__name__", "")
            found = f"{type(fn).__name__} '{name}'" if name else type(fn).__name__
            raise TypeError(f"autotune got {found}, expected a kernel: put @triton.jit below it")
        return Autotuner(
            fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook,
            post_hook=post_hook, prune_configs_by=prune_configs_by, warmup=warmup, rep=rep,
            use_cuda_graph=use_cuda_graph, do_bench=do_bench, cache_results=cache_results,
        )  # fmt: skip

    return decorate
