# What mypy knows of the extension module: that it exists.
from typing import Any

def __getattr__(name: str) -> Any: ...
