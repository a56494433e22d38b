"""Offers ``import triton`` at the start of Python; imported by a line of blockscope.pth.

It runs in every process of the environment, so it imports nothing: Blockscope itself is loaded when
somebody asks for triton and there is no other one, or with BLOCKSCOPE_AS_TRITON=1. Pytest, which
rewrites the modules of its plugins' packages, would warn that this one is there already:
PYTEST_DONT_REWRITE.
"""

import os
import sys

_text = os.environ.get("BLOCKSCOPE_AS_TRITON", "").strip().lower()
_CHANGED = ("torch.utils._triton", "torch._inductor.async_compile")  # as in torch_triton.py
_requested = _text not in ("", "0", "false", "off", "no", "n")


class _Finder:
    """Stands before the finders that look into folders: a folder named triton without an
    ``__init__.py``, such as a checkout beside a script, is a namespace package for them."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        is_changed = _requested and fullname in _CHANGED
        if fullname != "triton" and not fullname.startswith("triton.") and not is_changed:
            return None
        if not _requested and _is_of_another(fullname):
            return None
        from blockscope.drop_in import _finder

        _finder.requested = _finder.requested or _requested
        return _finder.find_spec(fullname, path, target)

    @staticmethod
    def find_distributions(context=None):
        if getattr(context, "name", None) != "triton":
            return ()
        if not _requested and _is_of_another("triton"):
            return ()
        from blockscope.drop_in import _finder

        return _finder.find_distributions(context, is_ours=True)


def _is_of_another(fullname):
    if fullname != "triton":
        return type(sys.modules.get("triton")).__name__ != "TritonModule"
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        if find is None or type(finder).__module__ in (__name__, "blockscope.drop_in"):
            continue
        spec = find(fullname, None)
        if spec is not None and spec.origin is not None:
            return True
    return False


def _install():
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


_install()
