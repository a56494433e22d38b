"""Puts kernels that ``triton.tools.compile`` has written behind one C function for each name.

``python -m triton.tools.link A.h B.h ... -o OUT`` writes OUT.h and OUT.c with ``NAME(stream,
arguments, algo_id)``, ``NAME_default``, ``NAME_get_num_algos``, ``load_NAME`` and ``unload_NAME``.
Kernels that differ in constants, warps or stages have different numbers ``algo_id``. Of those that
differ in what they take their arguments to be, each call takes the first that fits, the most
special first.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from blockscope.compat.tools import commands
from blockscope.compat.tools.compile import MARK, Entry, Parameter, declaration, framed


def read(headers: Sequence[Path]) -> dict[str, list[Entry]]:
    """The kernels of the headers by name.

    Errors: ValueError for a header of something else, and for kernels of one name that take
            different arguments.
    """
    found: dict[str, list[Entry]] = {}
    for header in headers:
        lines = header.read_text(encoding="utf-8").splitlines()
        line = next((line for line in lines if line.startswith(MARK)), None)
        if line is None:
            raise ValueError(f"'{header}' was not written by triton.tools.compile")
        data = json.loads(line.removeprefix(MARK))
        entry = Entry(**data | {"parameters": [Parameter(**p) for p in data["parameters"]]})
        others = found.setdefault(entry.name, [])
        if others and _types(others[0]) != _types(entry):
            raise ValueError(
                f"'{entry.name}' takes {_types(entry)} in '{header}', expected {_types(others[0])}"
            )
        others.append(entry)
    return found


def write(headers: Sequence[Path], out: Path) -> list[Path]:
    """Write OUT.h and OUT.c."""
    kernels = read(headers)
    header, code = out.with_name(out.name + ".h"), out.with_name(out.name + ".c")
    declarations, definitions = [], [f'#include "{header.name}"\n']
    definitions += [f'#include "{os.path.relpath(path, out.parent)}"' for path in headers]
    for name, entries in kernels.items():
        signatures = _signatures(name, entries)
        declarations += [f"{text};" for text in signatures.values()]
        definitions.append(_definitions(name, entries, signatures))
    header.write_text(framed("\n".join(declarations) + "\n"), encoding="utf-8")
    code.write_text("\n".join(definitions), encoding="utf-8")
    return [header, code]


def _types(entry: Entry) -> list[tuple[str, str]]:
    return [(p.c_type, p.name) for p in entry.parameters]


def _signatures(name: str, entries: list[Entry]) -> dict[str, str]:
    parameters = entries[0].parameters
    return {
        "load": f"CUresult load_{name}(void)",
        "unload": f"CUresult unload_{name}(void)",
        "count": f"int {name}_get_num_algos(void)",
        "default": declaration(f"{name}_default", parameters),
        "launch": declaration(name, parameters, "int algo_id"),
    }


def _definitions(name: str, entries: list[Entry], signatures: dict[str, str]) -> str:
    variants = list(dict.fromkeys(entry.variant for entry in entries))
    arguments = ", ".join(["stream", *(p.name for p in entries[0].parameters)])
    cases = []
    for number, variant in enumerate(variants):
        same = [entry for entry in entries if entry.variant == variant]
        calls = [
            f"    if ({_condition(entry)})\n      return {entry.function}({arguments});"
            for entry in sorted(same, key=_facts, reverse=True)
        ]
        cases.append("\n".join([f"  case {number}:", *calls, "    break;"]))
    text = "\n".join(cases)
    each = {
        which: "\n".join(
            f"  if (result == CUDA_SUCCESS)\n    result = {which}_{entry.function}();"
            for entry in entries
        )
        for which in ("load", "unload")
    }
    return f"""
{signatures["load"]} {{
  CUresult result = CUDA_SUCCESS;
{each["load"]}
  return result;
}}

{signatures["unload"]} {{
  CUresult result = CUDA_SUCCESS;
{each["unload"]}
  return result;
}}

{signatures["count"]} {{ return {len(variants)}; }}

{signatures["default"]} {{ return {name}({arguments}, 0); }}

{signatures["launch"]} {{
  switch (algo_id) {{
{text}
  }}
  return CUDA_ERROR_INVALID_VALUE;
}}
"""


def _facts(entry: Entry) -> int:
    return sum(p.divisor > 1 or p.value is not None for p in entry.parameters)


def _condition(entry: Entry) -> str:
    terms = [f"{p.name} % {p.divisor} == 0" for p in entry.parameters if p.divisor > 1]
    terms += [f"{p.name} == {p.value}" for p in entry.parameters if p.value is not None]
    return " && ".join(terms) or "1"


def main(argv: Sequence[str] | None = None) -> int:
    """Errors: exit status 2 with one line for wrong arguments."""
    parser = argparse.ArgumentParser(prog="triton.tools.link", description=__doc__)
    parser.add_argument("headers", nargs="+", type=Path)
    parser.add_argument("--out", "-o", type=Path, required=True)
    given = parser.parse_args(argv)
    return commands.write_files(parser, lambda: write(given.headers, given.out))


if __name__ == "__main__":
    sys.exit(main())
