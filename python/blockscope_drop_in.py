"""Offers ``import triton`` at the start of Python; imported by a line of blockscope.pth.

It runs in every process of the environment, so it imports nothing: Blockscope itself is loaded when
somebody asks for triton. The finder goes last, so that a real Triton wins, or first with
BLOCKSCOPE_AS_TRITON=1.
"""

import os
import sys

_text = os.environ.get("BLOCKSCOPE_AS_TRITON", "").strip().lower()
_requested = _text not in ("", "0", "false", "off", "no", "n")


class _Finder:
    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        from blockscope.drop_in import _finder

        _finder.requested = _finder.requested or _requested
        return _finder.find_spec(fullname, path, target)


def _install():
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if _requested:
        sys.meta_path.insert(0, _Finder())
    else:
        sys.meta_path.append(_Finder())


_install()
