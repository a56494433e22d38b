"""Holds a built wheel to what it promises, and gives it its name: ``./dev wheel``.

It runs on every Linux of its architecture with glibc 2.28 or newer: no file in it needs a newer
function, nor a library that such machines may lack; the module shows one symbol, so that an LLVM
linked in meets no other one of the same process; the file stays small.
"""

import argparse
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from binary_check import C_LIBRARIES, wrong_in

GLIBC = (2, 28)
#: Of an architecture, what an ELF file calls it.
MACHINES = {"x86_64": 62, "aarch64": 183}
LIMIT_MB = 60
EXPECTED = (
    "blockscope/__init__.py",
    "blockscope/bin/blk-view",
    "blockscope/bin/libglfw.so.3",
    "blockscope/bin/fonts/DejaVuSansMono.ttf",
    "blockscope/docs/findings/oob-load.md",
    "blockscope/examples/softmax_wrong.py",
    "blockscope.pth",
    "blockscope_drop_in.py",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="folder for the named wheel")
    parser.add_argument("--arch", default=platform.machine(), help="as in x86_64 or aarch64")
    arguments = parser.parse_args()
    machine = MACHINES[arguments.arch]
    tag = f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{arguments.arch}"

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(arguments.wheel) as archive:
            names = archive.namelist()
            archive.extractall(folder)
        if missing := [name for name in EXPECTED if name not in names]:
            sys.exit(f"wheel: {arguments.wheel.name} has no {', '.join(missing)}")
        inside = {name.rpartition("/")[2] for name in names}
        for name in names:
            path = Path(folder, name)
            if not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
                continue
            if (found := int.from_bytes(path.read_bytes()[18:20], "little")) != machine:
                sys.exit(f"wheel: {name} is for machine {found}, expected {machine}")
            if wrong := wrong_in(path, C_LIBRARIES | inside, GLIBC):
                sys.exit(
                    f"wheel: {name} does not run on old machines: {wrong} "
                    "(cmake/wheel/old_glibc.c has what is newer)"
                )
    if (size := arguments.wheel.stat().st_size / 1e6) > LIMIT_MB:
        sys.exit(f"wheel: {arguments.wheel.name} has {size:.0f} MB, expected at most {LIMIT_MB}")

    tagged = subprocess.run(
        [sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag,
         arguments.wheel],
        check=True, capture_output=True, text=True,
    ).stdout.split()[-1]  # fmt: skip
    arguments.output.mkdir(exist_ok=True)
    result = arguments.output / tagged
    (arguments.wheel.parent / tagged).replace(result)
    said = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", result],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    if f'"{tag}"' not in said:
        sys.exit(f"wheel: auditwheel does not take {tagged} for {tag}:\n{said}")
    print(f"{result}  {size:.1f} MB")


if __name__ == "__main__":
    main()
