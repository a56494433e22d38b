"""Compiles a kernel to C: a header and a source that holds the binary, and launches it by the CUDA
driver, without Python. ``python -m triton.tools.compile FILE -n KERNEL -s SIGNATURE -g GRID``.

The C functions are ``CUresult load_NAME(void)``, ``unload_NAME`` and ``NAME(CUstream, arguments)``.
``triton.tools.link`` puts several of them behind one function.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blockscope.compat.compiler.compiler import compile as compile_source
from blockscope.compat.tools import commands
from blockscope.errors import NotYetSupported
from blockscope.runtime.ast_source import ASTSource
from blockscope.target import GPUTarget

C_TYPES = {
    "u1": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "fp32": "float", "fp64": "double",
}  # fmt: skip

MARK = "// blockscope-link: "


@dataclass
class Parameter:
    """Of the C function. ``value`` is what it has to be, ``divisor`` what divides it."""

    name: str
    c_type: str
    divisor: int = 1
    value: int | None = None


@dataclass
class Entry:
    """What the linker must know of one compiled kernel; ``variant`` tells apart what a caller may
    choose between: constants, warps and stages."""

    name: str
    function: str
    variant: str
    parameters: list[Parameter]


def read_signature(fn: Any, text: str) -> tuple[ASTSource, list[Parameter]]:
    """``"*fp32:16, i32:1, 1024"``: a type for each argument, with what divides it or the value 1,
    or a constant.

    Errors: ValueError with the part that is wrong.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != len(fn.arg_names):
        raise ValueError(
            f"the signature has {len(parts)} parts, expected {len(fn.arg_names)}: "
            f"{', '.join(fn.arg_names)}"
        )
    signature, constants, attrs, parameters = {}, {}, {}, []
    for position, (param, part) in enumerate(zip(fn.params, parts, strict=True)):
        kind, _, hint = part.partition(":")
        c_type = "CUdeviceptr" if kind.startswith("*") else C_TYPES.get(kind)
        if c_type is None or param.is_constexpr:
            signature[param.name], constants[(position,)] = "constexpr", _constant(param.name, part)
            continue
        if hint not in ("", "1", "16"):
            raise ValueError(f"'{part}' for '{param.name}' is divided by {hint}, expected 1 or 16")
        parameter = Parameter(param.name, c_type)
        if hint == "1":
            signature[param.name], constants[(position,)] = "constexpr", 1
            parameter.value = 1
        else:
            signature[param.name] = kind
            if hint == "16":
                parameter.divisor, attrs[(position,)] = 16, [["tt.divisibility", 16]]
        parameters.append(parameter)
    return ASTSource(fn, signature, constants, attrs), parameters


def _constant(name: str, text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError(
            f"'{text}' for '{name}' is neither a constant nor one of *TYPE, {', '.join(C_TYPES)}"
        ) from None


def write(
    source: ASTSource,
    parameters: list[Parameter],
    grid: str,
    out: Path,
    *,
    target: GPUTarget,
    name: str,
    options: dict[str, int],
) -> list[Path]:
    """Compile and write ``out.HASH.h`` and ``out.HASH.c``.

    Errors: NotYetSupported for kernels that print, assert or need memory of their own; ValueError
            for a grid that has not three parts.
    """
    sizes = [part.strip() for part in grid.split(",")]
    if len(sizes) != 3:
        raise ValueError(f"the grid is '{grid}', expected three expressions of C: x,y,z")
    kernel = compile_source(source, target=target, options=options)
    kernel = kernel.careful()  # C checks nothing of its arguments
    data = kernel.data
    if data["takes_debug_buffer"] or data["global_scratch_size"]:
        raise NotYetSupported(
            f"kernel '{kernel.name}' prints, asserts or needs scratch memory, which only launches "
            "from Python have"
        )
    parts = [kernel.hash, grid, json.dumps([asdict(p) for p in parameters])]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    constants = {
        n: v for n, v in source.constexprs.items() if n not in {p.name for p in parameters}
    }
    variant = json.dumps([repr(sorted(constants.items())), sorted(options.items())])
    entry = Entry(name, f"{name}_{digest}", variant, parameters)
    header = out.with_name(f"{out.name}.{digest}.h")
    code = header.with_suffix(".c")
    header.write_text(_header(entry, data["arch"]), encoding="utf-8")
    code.write_text(_code(entry, header.name, data, sizes), encoding="utf-8")
    return [header, code]


def declaration(name: str, parameters: list[Parameter], *more: str) -> str:
    listed = ["CUstream stream", *(f"{p.c_type} {p.name}" for p in parameters), *more]
    return f"CUresult {name}({', '.join(listed)})"


def framed(body: str) -> str:
    """A header's text around declarations."""
    return f"""#pragma once

#include <cuda.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{body}
#ifdef __cplusplus
}}
#endif
"""


def _header(entry: Entry, arch: str) -> str:
    function = entry.function
    return (
        f"// Kernel {entry.name} for {arch}. Link with -lcuda.\n{MARK}{json.dumps(asdict(entry))}\n"
        + framed(
            f"CUresult load_{function}(void);\nCUresult unload_{function}(void);\n"
            f"{declaration(function, entry.parameters)};\n"
        )
    )


def _code(entry: Entry, header: str, data: dict[str, Any], grid: list[str]) -> str:
    function = entry.function
    cubin = data["cubin"]
    rows = [", ".join(map(str, cubin[i : i + 24])) for i in range(0, len(cubin), 24)]
    passed = [f"&{p.name}" for p in entry.parameters if p.value is None]
    unused = "".join(f"  (void){p.name};\n" for p in entry.parameters if p.value is not None)
    binary = ",\n    ".join(rows)
    return f"""#include "{header}"

#include <stddef.h>

static const unsigned char binary[] = {{
    {binary}}};
static CUmodule module = NULL;
static CUfunction function = NULL;

CUresult load_{function}(void) {{
  CUresult result;
  if (function != NULL)
    return CUDA_SUCCESS;
  result = cuModuleLoadDataEx(&module, binary, 0, NULL, NULL);
  if (result == CUDA_SUCCESS)
    result = cuModuleGetFunction(&function, module, "{data["name"]}");
  if (result == CUDA_SUCCESS && {data["shared"]} > 48 * 1024)
    result = cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                {data["shared"]});
  if (result != CUDA_SUCCESS)
    unload_{function}();
  return result;
}}

CUresult unload_{function}(void) {{
  CUresult result = module == NULL ? CUDA_SUCCESS : cuModuleUnload(module);
  module = NULL;
  function = NULL;
  return result;
}}

{declaration(function, entry.parameters)} {{
  void *arguments[] = {{{", ".join([*passed, "NULL"])}}};
  CUlaunchConfig config = {{0}};
  CUresult result = load_{function}();
{unused}  if (result != CUDA_SUCCESS)
    return result;
  config.gridDimX = (unsigned)({grid[0]});
  config.gridDimY = (unsigned)({grid[1]});
  config.gridDimZ = (unsigned)({grid[2]});
  config.blockDimX = {32 * data["num_warps"]};
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = {data["shared"]};
  config.hStream = stream;
  if (config.gridDimX == 0 || config.gridDimY == 0 || config.gridDimZ == 0)
    return CUDA_SUCCESS;
  return cuLaunchKernelEx(&config, function, arguments, NULL);
}}
"""


def _kernel_of(path: str, name: str) -> Any:
    """The @jit function of a file; below ``autotune`` and ``heuristics``."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"'{path}' is no Python file")
    sys.path.insert(0, str(Path(path).resolve().parent))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fn = getattr(module, name, None)
    while fn is not None and not hasattr(fn, "arg_names"):
        fn = getattr(fn, "fn", None)
    if fn is None:
        raise ValueError(f"'{path}' has no kernel '{name}'")
    return getattr(fn, "jit_function", fn)


def _target(text: str | None) -> GPUTarget:
    if text is None:
        from blockscope.driver import driver

        found: GPUTarget = driver.active.get_current_target()
        if found.backend != "cuda":
            raise ValueError("there is no GPU here: name a target, as in -t cuda:90:32")
        return found
    backend, _, rest = text.partition(":")
    arch = rest.partition(":")[0]
    if backend != "cuda" or not arch.isdigit():
        raise ValueError(f"the target is '{text}', expected one such as cuda:90:32")
    return GPUTarget("cuda", int(arch), 32)


def main(argv: Sequence[str] | None = None) -> int:
    """Errors: exit status 2 with one line for wrong arguments."""
    parser = argparse.ArgumentParser(prog="triton.tools.compile", description=__doc__)
    parser.add_argument("path", help="the Python file; it is executed")
    parser.add_argument("--kernel-name", "-n", required=True)
    parser.add_argument("--target", "-t", help="cuda:ARCH:32; without it the GPU of this machine")
    parser.add_argument("--num-warps", "-w", type=int, default=4)
    parser.add_argument("--num-stages", "-ns", type=int, default=3)
    parser.add_argument("--out-name", "-on", help="of the C function; the kernel's without it")
    parser.add_argument("--out-path", "-o", type=Path, help="of the files; OUT_NAME without it")
    parser.add_argument("--signature", "-s", required=True)
    parser.add_argument("--grid", "-g", required=True, help="x,y,z as expressions of C")
    given = parser.parse_args(argv)
    name = given.out_name or given.kernel_name

    def write_all() -> Sequence[Path]:
        kernel = _kernel_of(given.path, given.kernel_name)
        source, parameters = read_signature(kernel, given.signature)
        return write(
            source,
            parameters,
            given.grid,
            given.out_path or Path(name),
            target=_target(given.target),
            name=name,
            options={"num_warps": given.num_warps, "num_stages": given.num_stages},
        )

    return commands.write_files(parser, write_all)


if __name__ == "__main__":
    sys.exit(main())
