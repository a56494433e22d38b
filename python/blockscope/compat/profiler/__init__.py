"""``triton.profiler``: it can be imported, as many kernel files do, but every use is an error."""

import sys
from types import ModuleType

from blockscope.compat.missing import module_getattr

_REASON = "there is no profiler yet; triton.testing.do_bench takes times"
_MODULES = ("context", "data", "flags", "hooks", "hooks.launch", "language", "metric", "mode",
            "profile", "scope", "specs", "state", "viewer")  # fmt: skip


def _make(name: str) -> None:
    """A module below this one, such as ``triton.profiler.language``."""
    module = ModuleType(f"{__name__}.{name}", __doc__)
    module.__getattr__ = module_getattr(f"triton.profiler.{name}", _REASON)  # type: ignore[method-assign]
    module.__path__ = []
    sys.modules[module.__name__] = module
    if name not in ("profile", "scope", "state"):  # functions of these names hide the modules
        globals()[name] = module


for _name in _MODULES:
    _make(_name)
__getattr__ = module_getattr("triton.profiler", _REASON)
