"""``triton.runtime.driver``: usable as a module and as the object that holds the active driver."""

from typing import Any

from blockscope.driver import DriverBase, DriverConfig, driver
from blockscope.users_call import for_user

set_active = driver.set_active
reset_active = driver.reset_active
set_active_to_cpu = driver.set_active_to_cpu
set_active_to_gpu = driver.set_active_to_gpu
get_active_gpus = driver.get_active_gpus

__all__ = ["DriverBase", "DriverConfig", "driver", "get_active_gpus", "reset_active", "set_active",
           "set_active_to_cpu", "set_active_to_gpu"]  # fmt: skip


@for_user
def __getattr__(name: str) -> Any:
    if name in ("active", "default"):
        return getattr(driver, name)
    raise AttributeError(f"module 'triton.runtime.driver' has no attribute '{name}'")
