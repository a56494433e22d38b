"""The autotuner, under the module path that Triton uses."""

from blockscope.autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from blockscope.errors import AutotunerError, OutOfResources, PTXASError

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
