"""Blockscope: run, step, check and look at Triton kernels."""

import pkgutil

# The extension module lies in the build folder, <build>/python/blockscope/, which a .pth file or
# PYTHONPATH puts on the path; an installed wheel has it beside this file.
__path__ = pkgutil.extend_path(__path__, __name__)

from blockscope import _core

__version__: str = _core.__version__
