"""Drivers: the devices of this machine, and which of them kernels run on."""

from blockscope.driver.active import DriverConfig, driver
from blockscope.driver.base import DriverBase
from blockscope.driver.cpu import CPUDriver, CPUUtils

__all__ = ["CPUDriver", "CPUUtils", "DriverBase", "DriverConfig", "driver"]
