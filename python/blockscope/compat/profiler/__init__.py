"""``triton.profiler``: no session can be started, which is an error; what only marks parts of a
session has no effect without one, as in Triton."""

import sys
from types import ModuleType

from blockscope.compat.missing import module_getattr
from blockscope.compat.profiler.marks import (
    cpu_timed_scope,
    enter_scope,
    exit_scope,
    metadata_state,
    scope,
    state,
)

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
_OF_SCOPE = {mark.__name__: mark for mark in (scope, cpu_timed_scope, enter_scope, exit_scope)}
sys.modules[f"{__name__}.scope"].__dict__.update(_OF_SCOPE)
sys.modules[f"{__name__}.state"].__dict__.update(state=state, metadata_state=metadata_state)
__getattr__ = module_getattr("triton.profiler", _REASON)
profile = __getattr__("profile")
