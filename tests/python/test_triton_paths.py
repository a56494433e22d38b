"""Every module path of Triton's that is offered, with its names, as ``triton.X`` and as
``blockscope.X`` (for files that say ``import blockscope as triton``)."""

import subprocess
import sys
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
    """None needs another one to be imported first."""
    failed = []
    paths = [line.partition(":")[0] for line in TABLE.read_text().splitlines() if line[0] != " "]
    for path in paths:
        for name in (path, path.replace("triton", "blockscope", 1)):
            code = f"{OFFER_FIRST}import {name}"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            if done.returncode:
                failed.append(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    assert not failed


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
