"""The active driver: CUDA's where there is a GPU that can be used, else the CPU's."""

from __future__ import annotations

import os
from typing import Any

from blockscope import _core
from blockscope.driver.cpu import CPUDriver
from blockscope.errors import NoGpu
from blockscope.process_lock import ProcessLock, loading
from blockscope.users_call import for_user, method_for_user


class DriverConfig:
    """Holds the active driver; ``active`` makes the default one when first asked."""

    def __init__(self) -> None:
        self._default: Any = None
        self._active: Any = None
        self._is_gpu = False
        self._lock = ProcessLock()

    @property
    def default(self) -> Any:
        with self._lock:
            if self._default is None:
                self._default = _default_driver()
        return self._default

    @property
    @for_user
    def active(self) -> Any:
        if self._active is None:
            self._activate(self.default)
        return self._active

    def _activate(self, driver: Any) -> None:
        self._is_gpu = driver.get_current_target().backend == "cuda"
        _core.surroundings.activate_gpu(self._is_gpu)
        self._active = driver  # last: other threads take it as a sign that the rest is known

    def is_gpu_active(self) -> bool:
        """Whether kernels on GPU tensors run on the GPU, as far as the active driver decides."""
        if self._active is None:
            self._activate(self.default)
        return self._is_gpu

    def set_active(self, driver: Any) -> None:
        if not hasattr(driver, "get_current_target"):
            raise TypeError(
                f"set_active got {type(driver).__name__}, expected a driver such as CPUDriver()"
            )
        backend = driver.get_current_target().backend
        if backend not in ("cpu", "cuda"):
            raise ValueError(
                f"set_active got a driver for '{backend}', expected one for 'cpu' or 'cuda'"
            )
        self._activate(driver)

    def reset_active(self) -> None:
        self._activate(self.default)

    def set_active_to_cpu(self) -> None:
        """As in triton-cpu."""
        self._activate(CPUDriver())

    @method_for_user
    def set_active_to_gpu(self) -> None:
        """As in triton-cpu. Errors: RuntimeError where there is no GPU that torch can use."""
        gpus = self.get_active_gpus()
        if not gpus:
            raise NoGpu("set_active_to_gpu found no GPU; 'blockscope doctor' says why")
        self._activate(gpus[0])

    def get_active_gpus(self) -> list[Any]:
        """The drivers of GPUs that can be used, as in triton-cpu."""
        with loading:
            from blockscope.driver import cuda

        return [cuda.CudaDriver()] if cuda.CudaDriver.is_active() else []


def _default_driver() -> Any:
    """CUDA's where there is a GPU that torch can use too, else the CPU's.

    TRITON_DEFAULT_BACKEND names one: ``cpu``, or ``cuda``, which is an error where there is none.
    """
    with loading:
        from blockscope.driver import cuda

    chosen = os.environ.get("TRITON_DEFAULT_BACKEND", "").lower()
    if chosen not in ("", "cpu", "cuda", "nvidia"):
        raise ValueError(f"TRITON_DEFAULT_BACKEND is '{chosen}', expected 'cpu' or 'cuda'")
    if chosen == "cpu" or os.environ.get("TRITON_CPU_BACKEND") == "1":
        return CPUDriver()
    if chosen in ("cuda", "nvidia") or cuda.CudaDriver.is_active():
        return cuda.CudaDriver()
    return CPUDriver()


driver = DriverConfig()
