"""What a built file needs of the machine that loads it."""

import re
import subprocess
from collections.abc import Collection
from pathlib import Path

#: The C libraries, which every machine has.
C_LIBRARIES = frozenset({"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
                         "libgcc_s.so.1", "ld-linux-x86-64.so.2",
                         "ld-linux-aarch64.so.1"})  # fmt: skip


def wrong_in(path: Path, libraries: Collection[str], glibc: tuple[int, int]) -> str | None:
    """What keeps the file from machines with these libraries and this glibc, or None. An extension
    module shows one symbol: an LLVM linked in must not meet another one of the same process."""
    text = subprocess.run(
        ["readelf", "--wide", "--dynamic", "--version-info", "--dyn-syms", path],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    needed = set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", text))
    if extra := sorted(needed - set(libraries)):
        return f"it needs {', '.join(extra)}, expected none of them"
    newer = {
        name
        for name, version in re.findall(r"(\S+@GLIBC_(2\.\d+)\S*)", text)
        if tuple(map(int, version.split("."))) > glibc
    }
    if newer:
        return f"it needs {', '.join(sorted(newer))}, expected at most glibc {glibc[0]}.{glibc[1]}"
    if path.name.startswith("_core."):
        shown = re.findall(r"(?:GLOBAL|WEAK)\s+DEFAULT\s+\d+\s+(\S+)", text)
        if shown != ["PyInit__core"]:
            return f"it exports {', '.join(shown[:5])}, expected PyInit__core"
    return None
