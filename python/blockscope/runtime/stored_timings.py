"""Timings that ``autotune`` keeps on disk."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from blockscope.driver import driver
from blockscope.driver.cpu import cpu_name
from blockscope.frontend.dependencies import source_key
from blockscope.runtime import private_folder
from blockscope.runtime.cache import get_cache_manager, triton_key
from blockscope.runtime.config import Config


class StoredTimings:
    """Timings of one kernel and key in the cache folder, as ``<kernel>.autotune.json``."""

    def __init__(self, jit_function: Any, configs: list[Config], key: tuple[Any, ...]) -> None:
        device = cpu_name()
        if driver.is_gpu_active():
            properties = driver.active.utils.get_device_properties
            device = properties(driver.active.get_current_device())["name"]
        parts = [triton_key(), device, source_key(jit_function), str(key)]
        parts += [str(config) for config in configs]
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        self.manager = get_cache_manager(digest)
        self.file = f"{jit_function.__name__[:150]}.autotune.json"
        self.configs = configs
        self.key = key

    def read(self) -> dict[Config, list[float]] | None:
        path = self.manager.get_file(self.file)
        if path is None:
            return None
        try:
            with open(path, encoding="utf-8") as file:
                rows = json.load(file)["configs_timings"]
            timings = {self.configs[index]: [float(t) for t in row] for index, row in rows}
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            return None  # a damaged file is timed anew and replaced
        return timings or None

    def write(self, timings: dict[Config, list[float]]) -> None:
        rows = [[self.configs.index(config), row] for config, row in timings.items()]
        data = {
            "key": [str(part) for part in self.key],
            "configs": [str(config) for config in self.configs],
            "configs_timings": rows,
        }
        try:
            self.manager.put(json.dumps(data), self.file, binary=False)
        except OSError as error:
            private_folder.warn_once("timings of autotune are not kept", error)
