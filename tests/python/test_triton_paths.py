"""Every module path of Triton's that is offered, with its names, as ``triton.X`` and as
``blockscope.X`` (for files that say ``import blockscope as triton``)."""

from pathlib import Path

import pytest
from test_drop_in import python

TABLE = Path(__file__).with_name("triton_paths.txt")

READ = f"""
import importlib, sys
modules = {{}}
for line in open({str(TABLE)!r}):
    if not line.startswith(" "):
        path, _, line = line.partition(":")
    modules.setdefault(path, []).extend(line.split())
assert len(modules) > 40
def lacks(module, names):
    return [name for name in names if not hasattr(module, name)]
"""


def test_every_path_under_both_names():
    code = """
    import blockscope
    blockscope.install_as_triton()
    for path, names in modules.items():
        module = importlib.import_module(path)
        own = importlib.import_module(path.replace("triton", "blockscope", 1))
        assert module is own or path == "triton", path
        assert not lacks(module, names), (path, lacks(module, names))
    """
    python(READ + _dedented(code))


@pytest.mark.parametrize("start", ["import blockscope as triton", "import triton"])
def test_names_are_found_without_importing_their_modules(start):
    code = """
    for path in ("triton", "triton.runtime", "triton.language", "triton.backends"):
        module = triton
        for part in path.split(".")[1:]:
            module = getattr(module, part)
        assert not lacks(module, modules[path]), (path, lacks(module, modules[path]))
    """
    python(OFFER_FIRST + f"{start}\n" + READ + _dedented(code))


def test_each_path_alone():
    """None needs another one to be imported first: each is, in a forked process of its own."""
    code = """
    import os, traceback
    failed = []
    for path in modules:
        for name in (path, path.replace("triton", "blockscope", 1)):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    importlib.import_module(name)
                    status = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(status)
            if os.waitpid(child, 0)[1]:
                failed.append(name)
    assert not failed, failed
    """
    python(OFFER_FIRST + READ + _dedented(code))


def test_a_module_is_loaded_once():
    code = """
    import blockscope as triton
    import blockscope.backends.nvidia.compiler, blockscope.compat.backends.nvidia.compiler
    assert blockscope.backends is blockscope.compat.backends
    assert blockscope.backends.nvidia.compiler is blockscope.compat.backends.nvidia.compiler
    assert blockscope.backends.__spec__.name == "blockscope.compat.backends"
    """
    python(_dedented(code))


OFFER_FIRST = "import blockscope; blockscope.install_as_triton()\n"


def _dedented(code):
    import textwrap

    return textwrap.dedent(code)
