"""Stages of a compiled kernel that the user gives: files in the override folder, ``ir_override``,
functions of ``add_stages_inspection_hook``. Only the last two stages can be, PTX and the binary."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from blockscope import knobs
from blockscope.errors import NotYetSupported, PTXASError
from blockscope.runtime import hooks
from blockscope.runtime.backends.cuda import tools
from blockscope.runtime.backends.cuda.managed_cache import TEXTS
from blockscope.runtime.cache import FileCacheManager
from blockscope.runtime.specialization import Specialization

_STAGES = (*TEXTS, "cubin")


def apply(
    data: dict[str, Any], key: str, stem: str, specialization: Specialization, ptxas_options: str
) -> dict[str, Any]:
    """The kernel with what the user has put in place of its stages.

    Errors: NotYetSupported for another stage than PTX and the binary, PTXASError.
    """
    given: dict[str, Any] = {}
    if knobs.compilation.override:
        given = _from_folder(data, key, stem)
    elif file := specialization.options["ir_override"]:
        given = {Path(file).suffix[1:]: Path(file).read_bytes()}
    if knobs.runtime.add_stages_inspection_hook is not None:
        stages = {name: data[name] for name in _STAGES if name in data}
        given |= hooks.inspect_stages(specialization, stages | given)
    changed = {name: value for name, value in map(_typed, given.items()) if value != data.get(name)}
    if not changed:
        return data
    if wrong := sorted(changed.keys() - {"ptx", "cubin"}):
        raise NotYetSupported(
            f"kernel '{data['name']}': its stage '{wrong[0]}' is overridden, expected 'ptx' or "
            "'cubin'; blk-opt compiles IR from a file"
        )
    if "cubin" not in changed:
        changed |= _assembled(changed["ptx"], data["arch"], ptxas_options)
    return {**data, **changed}


def _from_folder(data: dict[str, Any], key: str, stem: str) -> dict[str, Any]:
    """The files of the kernel in the override folder, under the names that dumps have."""
    folder = FileCacheManager(key, override=True)
    files = {name: f"{stem}.{'ll' if name == 'llir' else name}" for name in _STAGES if name in data}
    paths = {name: folder.get_file(file) for name, file in files.items()}
    found = {name: Path(path).read_bytes() for name, path in paths.items() if path}
    if found:
        print(f"overriding kernel '{data['name']}' with files of {folder.cache_dir}")
    return found


def _typed(stage: tuple[str, Any]) -> tuple[str, Any]:
    name, value = stage
    is_text = name != "cubin" and isinstance(value, bytes)
    return name, value.decode() if is_text else value


def _assembled(ptx: str, arch: str, options: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = [tools.ptxas(), "-v", f"-arch={arch}", *shlex.split(options)]
        limit = int(knobs.gpu.ptxas_seconds) or None
        try:
            done = subprocess.run(
                [*command, str(source), "-o", str(binary)],
                capture_output=True,
                text=True,
                timeout=limit,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise PTXASError(str(error)) from None
        if done.returncode:
            raise PTXASError(done.stdout + done.stderr)
        said = done.stdout + done.stderr
        registers = re.search(r"Used (\d+) registers", said)
        spilled = re.search(r"(\d+) bytes spill stores", said)
        return {
            "cubin": binary.read_bytes(),
            "registers": int(registers[1]) if registers else 0,
            "spill_bytes": int(spilled[1]) if spilled else 0,
        }
