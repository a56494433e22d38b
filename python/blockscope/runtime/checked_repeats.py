"""Whether a kernel can be tuned: what it leaves must not depend on how often it ran before.

Where no check is open, ``autotune`` runs a kernel many times on the same arguments before the run
that counts. The check ``outputs`` compares what one run leaves with what it leaves after another
one, both on the arguments as they were, with the hooks that ``autotune`` has around each. Each
configuration is looked at: of a sum that may be split, those that split it add to what is there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from blockscope import checks
from blockscope.errors import TritonError
from blockscope.runtime import tried_arguments
from blockscope.runtime.config import Config
from blockscope.runtime.contents import CannotPutBack, Contents
from blockscope.runtime.memory.buffer import tensors_in
from blockscope.runtime.tried_configs import SKIPPED, uncounted

#: Sums in another order differ by less than this share of the largest element.
_ROUNDING = 1e-2


_repeating = threading.local()


def is_repeating() -> bool:
    """Whether what this thread launches is this check's, and not the script's."""
    return getattr(_repeating, "is_so", False)


def prepare(
    autotuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reports: list[Any]
) -> Repeats | None:
    """Keeps the arguments before the first launch; None where nobody asks, or they cannot be."""
    asking = [report for report in reports if "outputs" in report.checks]
    if not asking or len(autotuner.configs) < 2:
        return None
    try:
        return Repeats(autotuner, args, kwargs, asking)
    except CannotPutBack:
        return None  # checked_configs says so


class Repeats:
    """One launch of an autotuned kernel, done again without anybody watching."""

    def __init__(
        self, autotuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reports: list[Any]
    ) -> None:
        self._autotuner, self._args, self._kwargs, self._reports = autotuner, args, kwargs, reports
        self._named = dict(autotuner.nargs)
        self._has_told = False
        with checks.unwatched():
            self._before = Contents((*args, *kwargs.values()))

    def compare(self, config: Config) -> None:
        """Run again, and tell the reports where it makes a difference. Arguments stay as they are.

        Of the configurations that make one the first is told; what differs from run to run in any
        case is not.
        """
        if self._has_told:
            return
        with checks.unwatched(), uncounted():
            after = Contents((*self._args, *self._kwargs.values()))
            _repeating.is_so = True
            try:
                self._compare(config)
            finally:
                _repeating.is_so = False
                after.put_back()

    def _compare(self, config: Config) -> None:
        with suppress(TritonError, *SKIPPED):
            once = self._left_by(config, tunes=False)
            again = self._left_by(config, tunes=True)
            if (found := _difference(once, again)) is None:
                return
            if _difference(once, self._left_by(config, tunes=False)) is None:
                self._tell(*found, takes_zero=self._takes_zero(found[0], config, once))

    def _takes_zero(self, name: str, config: Config, once: dict[str, Any]) -> bool:
        """Whether one run leaves the same where an argument begins with 0: else reset_to_zero would
        take away what the user gave."""
        with suppress(TritonError, *SKIPPED):
            return _difference(once, self._left_by(config, tunes=False, zeroed=name)) is None
        return False

    def _left_by(self, config: Config, *, tunes: bool, zeroed: str = "") -> dict[str, Any]:
        """What the run that counts leaves; ``tunes``: after one run of tuning."""
        tuner = self._autotuner
        launch = {**self._kwargs, **config.all_kwargs()}
        self._before.put_back()
        if zeroed:
            for tensor in tensors_in([{**self._named, **self._kwargs}[zeroed]]):
                tried_arguments.fill_zero(tensor)
        tuner.nargs = self._named
        try:
            if tunes:
                tuner._kernel_call(self._args, self._kwargs, config)()
            tuner.pre_hook({**self._named, **launch}, reset_only=True)
            if config.pre_hook is not None:
                config.pre_hook({**self._named, **launch})
            tuner.fn.run(*self._args, **launch)
        finally:
            tuner.nargs = None
        return dict(_copies({**self._named, **self._kwargs}))

    def _tell(
        self, name: str, index: tuple[int, ...], once: Any, again: Any, *, takes_zero: bool
    ) -> None:
        self._has_told = True
        fn = self._autotuner.jit_function
        code = fn.fn.__code__
        place = ", ".join(map(str, index))
        message = (
            f"'{fn.__name__}' is run many times to be tuned, but what it leaves depends on that: "
            f"{name}[{place}] is {once} after one run, {again} after a second one"
        )
        hint = f"put '{name}' into restore_value of @autotune"
        if takes_zero:
            hint += (
                ", or into reset_to_zero where it always begins with 0, or let the kernel write it "
                "without reading it"
            )
        else:
            hint += "; not into reset_to_zero: the result depends on what it held"
        for report in self._reports:
            report.handle.note(
                "not-idempotent", fn.__name__, code.co_filename, code.co_firstlineno, message, hint
            )


def _copies(arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in arguments.items():
        for tensor in tensors_in([value]):
            with suppress(AttributeError, NotImplementedError, RuntimeError):
                yield name, tried_arguments.clone(tensor)


def _difference(
    left: dict[str, Any], right: dict[str, Any]
) -> tuple[str, tuple[int, ...], Any, Any] | None:
    """The first element that differs by more than rounding: argument, index, and both values."""
    import numpy as np

    for name, first in left.items():
        one, two = _array(first), _array(right.get(name))
        if one is None or two is None or one.shape != two.shape or one.size == 0:
            continue
        if one.dtype.kind == "f":
            with np.errstate(all="ignore"):
                largest = np.max(np.abs(one), initial=0.0, where=np.isfinite(one))
                bound = _ROUNDING * max(float(largest), 1e-30)
                close = (
                    (np.abs(two - one) <= bound) | (one == two) | (np.isnan(one) & np.isnan(two))
                )
        else:
            close = one == two
        if not close.all():
            index = tuple(int(i) for i in np.argwhere(~close)[0])
            return name, index, one[index].item(), two[index].item()
    return None


def _array(tensor: Any) -> Any:
    """The elements as NumPy has them; None for what it has not."""
    import numpy as np

    if isinstance(tensor, np.ndarray):
        return tensor
    with suppress(AttributeError, TypeError, RuntimeError):
        tensor = tensor.detach().cpu()
        return (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    return None
