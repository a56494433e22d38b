"""``import triton`` meaning Blockscope.

A finder on ``sys.meta_path`` answers for ``triton`` and ``triton.*``, where there is no real Triton
(blockscope_drop_in.py) or when it was asked for (``install_as_triton``, ``blockscope run``,
BLOCKSCOPE_AS_TRITON=1). ``triton`` is a module of its own that looks everything up in
``blockscope``; the modules below it are Blockscope's own modules under a second name.

torch looks for Triton in many places. Where Blockscope was asked for, torch finds it, so that
``torch.compile`` makes kernels of it (``docs/host.md``). Where nobody asked, imports made by
torch's own modules do not see ours: torch runs as it does without a Triton. Four of its modules do
see ours even then, and use public names only: two launch kernels that users hand them
(``torch.library.wrap_triton``), two hold functions for kernels (``triton_helpers``), of which
users' kernels import some.

Where ``import triton`` means Blockscope, ``importlib.metadata.version("triton")`` gives the version
of Triton that is offered: packages ask for it before they define kernels.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from types import FrameType, ModuleType
from typing import Any

from blockscope.compat import torch_triton
from blockscope.compat.paths import alias_spec
from blockscope.version import TRITON_VERSION

HIDDEN_FROM = ("torch", "functorch", "torchgen")
"""Top-level packages whose imports do not see the alias where nobody asked for it."""

SHOWN_TO = (
    "torch._library.triton",
    "torch._higher_order_ops.triton_kernel_wrap",
    "torch._inductor.runtime.triton_compat",
    "torch._inductor.runtime.triton_helpers",
)
"""Their modules that do see it."""

_OUTSIDE = "triton"
_INSIDE = "blockscope"


def _is_triton(name: str) -> bool:
    return name == _OUTSIDE or name.startswith(_OUTSIDE + ".")


def _hidden_from(module: Any) -> bool:
    return (
        isinstance(module, str)
        and module.partition(".")[0] in HIDDEN_FROM
        and module not in SHOWN_TO
        and not (_finder.requested and torch_triton.is_wanted())
    )


def _importing_module() -> str:
    """The module whose code asks for an import: the first frame outside the import machinery."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("importlib") and name not in (__name__, "blockscope_drop_in"):
            return name
        frame = frame.f_back
    return ""


def _only_asks() -> bool:
    """Whether the finder is called by importlib.util.find_spec, which imports nothing."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(
        ("importlib", "blockscope_drop_in")
    ):
        if frame.f_globals["__name__"] == "importlib.util":
            return True
        frame = frame.f_back
    return False


class TritonModule(ModuleType):
    """The module ``triton``: its own version number, everything else from ``blockscope``."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module 'triton' has no attribute '{name}'")
        try:
            return getattr(sys.modules[_INSIDE], name)
        except AttributeError:
            raise AttributeError(f"module 'triton' has no attribute '{name}'") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(sys.modules[_INSIDE])})


class _TritonLoader(Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        importlib.import_module(_INSIDE)
        module = TritonModule(_OUTSIDE, sys.modules[_INSIDE].__doc__)
        module.__version__ = TRITON_VERSION  # type: ignore[attr-defined]
        module.__file__ = sys.modules[_INSIDE].__file__
        return module

    def exec_module(self, module: ModuleType) -> None:
        _hide_from_torch()
        _place_finder_first()


class TritonFinder(MetaPathFinder):
    """Finds ``triton`` and its modules in Blockscope, for torch only where it was requested."""

    requested = False  # whether ours is to win over a real Triton

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in torch_triton.MODULES and self.requested:
            return torch_triton.find_spec(fullname, path)
        if not _is_triton(fullname):
            return None
        if _hidden_from(_importing_module()):
            if self.requested and not _only_asks():
                # A real Triton must not come in through torch and take the name.
                raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)
            return None
        if fullname == _OUTSIDE:
            return importlib.machinery.ModuleSpec(
                fullname, _TritonLoader(), origin=__file__, is_package=True
            )
        if not isinstance(sys.modules.get(_OUTSIDE), TritonModule):
            return None  # a submodule of a real Triton
        return alias_spec(fullname, _INSIDE + fullname[len(_OUTSIDE) :])

    def find_distributions(self, context: Any = None, is_ours: bool = False) -> Iterator[Any]:
        """What importlib.metadata says of the package ``triton``, when it is asked by name."""
        if getattr(context, "name", None) != _OUTSIDE:
            return
        if (is_ours or self.requested or is_triton()) and not _hidden_from(_importing_module()):
            yield _distribution()


def _distribution() -> Any:
    import importlib.metadata  # few programs ask

    class TritonDistribution(importlib.metadata.Distribution):
        def read_text(self, filename: str) -> str | None:
            if filename != "METADATA":
                return None
            return f"Metadata-Version: 2.1\nName: {_OUTSIDE}\nVersion: {TRITON_VERSION}\n"

        def locate_file(self, path: Any) -> Any:
            raise FileNotFoundError(f"'{path}' is no file of {_OUTSIDE}: Blockscope stands for it")

    return TritonDistribution()


_finder = TritonFinder()
_import_before_hiding: Any = None


def _place_finder_first() -> None:
    """From now on our finder answers for triton.*, before any finder looks into folders."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    sys.meta_path.insert(0, _finder)


def _hide_from_torch() -> None:
    """Make imports of triton by modules that it is hidden from fail, as where none is installed."""
    global _import_before_hiding
    if _import_before_hiding is not None:
        return
    _import_before_hiding = builtins.__import__
    before = builtins.__import__

    def import_(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        if (
            level == 0
            and name[:6] == _OUTSIDE
            and _is_triton(name)
            and globals is not None
            and _hidden_from(globals.get("__name__"))
            and isinstance(sys.modules.get(_OUTSIDE), TritonModule)
        ):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return before(name, globals, locals, fromlist, level)

    builtins.__import__ = import_


def install_as_triton() -> None:
    """Make ``import triton`` mean Blockscope, also where Triton is installed: in this process and
    in those that it starts from now on, which BLOCKSCOPE_AS_TRITON tells so.

    Errors: RuntimeError when another Triton has been imported already.
    """
    loaded = sys.modules.get(_OUTSIDE)
    if loaded is not None and not isinstance(loaded, TritonModule):
        place = getattr(loaded, "__file__", None) or "an unknown place"
        raise RuntimeError(
            f"another triton is imported already, from {place}; "
            "call install_as_triton() before the first 'import triton'"
        )
    _finder.requested = True
    os.environ["BLOCKSCOPE_AS_TRITON"] = "1"
    _place_finder_first()
    torch_triton.change_loaded()


def is_triton() -> bool:
    """Whether ``import triton`` has given Blockscope in this process."""
    return isinstance(sys.modules.get(_OUTSIDE), TritonModule)
