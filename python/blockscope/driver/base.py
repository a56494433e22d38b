"""The interface of drivers."""

import functools
from typing import Any

from blockscope import timing
from blockscope.target import GPUTarget


class DriverBase:
    """Interface of drivers, under the name that files import from triton.backends.driver."""

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> GPUTarget:
        raise NotImplementedError

    def get_active_torch_device(self) -> Any:
        raise NotImplementedError

    def get_benchmarker(self) -> Any:
        """The timer that autotune uses."""
        return functools.partial(timing.do_bench, self)
