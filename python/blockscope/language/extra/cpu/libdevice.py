"""Device functions; the same on every target."""

# ruff: noqa: F403

from blockscope.language.extra.libdevice import *
from blockscope.language.extra.libdevice import __all__ as __all__
