"""The interface of drivers."""

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
        """The timer that autotune uses: ``do_bench`` with smaller budgets, in ms, as its runs come
        behind others that have warmed up the GPU. Of a kernel of 10 us these are 500 runs."""

        def bench(fn: Any, warmup: float = 5, rep: float = 40, *rest: Any, **named: Any) -> Any:
            return timing.do_bench(self, fn, warmup, rep, *rest, **named)

        return bench
