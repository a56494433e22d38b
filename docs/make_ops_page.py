"""Writes docs/ops.md: every function of the language, where it runs and what tests it; every
operation of the block IR and its facts.

Run it with .venv/bin/python after adding an op; a test holds the page to the code.
"""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import blockscope.language as tl
from blockscope import _core

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = {
    "creation": "Programs and creation",
    "shape": "Shape",
    "memory": "Memory",
    "atomics": "Atomics",
    "aggregate": "Aggregates",
    "block_pointer": "Block pointers",
    "descriptor": "Tensor descriptors",
    "elementwise": "Elementwise",
    "math": "Mathematics",
    "inline_asm": "Inline assembly",
    "linear": "Dots",
    "reduce": "Reductions",
    "scan": "Scans",
    "sort": "Sorting and counting",
    "standard": "Written in the language",
    "random": "Random numbers",
    "hints": "Hints",
    "debug": "Debugging",
    "iterators": "Loops",
}
TYPES = {"tensor_descriptor", "tensor_descriptor_type"}
HEADER = """# The language, op by op

Made by `docs/make_ops_page.py`. *Whole* is the flat program (CPU tensors), *step* is
`TRITON_INTERPRET=1`; both use the same rules and evaluators. *Rows* counts the cases of
`tests/python/op_cases/`, each run in both modes for each of its dtypes and held to NumPy and to
the other mode bit by bit; *kernels* says whether an example, a test kernel or another test uses
the function. *GPU* is compiled code: "yes" when the GPU compiler lowers every operation that the
function becomes, else what it lacks, with the share of the rows that have it when not all do.
"""
FACTS_HEADER = """
## The operations of the block IR

The rows of `core/op_facts.def`, which both executors, `verify` and the tests ask. *Combines* names
the identity of operations that may be all of a reduction or scan, and says where another order of
the elements rounds differently. *Error* is in units in the last place: how far a result is from the
exact one on the CPU, and on a GPU where that differs; 0 is always exact, 0.5 correctly rounded
(these two give the same bits everywhere). Narrower floats are computed in fp32 and rounded once.
`arith.divf` and `math.sqrt` are approximate on a GPU in fp32 only where they are marked
`fastmath<afn>`. *Cost* is a class, from free to dot.

| op | operands | memory | combines | error fp32 | error fp64 | cost |
|---|---|---|---|---|---|---|
"""
#: What functions without rows become; those that are not named here leave nothing at run time.
BECOMES = {
    "arange": "tl.range",
    "num_programs": "tl.num_programs",
    "program_id": "tl.program_id",
    "load": "tl.load",
    "store": "tl.store",
    "load_tensor_descriptor": "tl.load",
    "store_tensor_descriptor": "tl.store",
    "device_assert": "tl.assert",
    "device_print": "tl.print",
    "condition": "scf.while",
    "range": "scf.for",
    "atomic_cas": "tl.atomic_cas",
    "atomic_load": "tl.atomic_load",
    "atomic_poll": "tl.atomic_load",
    "atomic_store": "tl.atomic_store",
    **{
        f"atomic_{kind}": "tl.atomic_rmw"
        for kind in ("add", "and", "max", "min", "or", "xchg", "xor")
    },
}


def rows_by_function() -> dict[str, list[tuple[Any, str]]]:
    """The op cases of each function, by the name that the row begins with, with their dtypes."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    rows: dict[str, list[tuple[Any, str]]] = {}
    for case in importlib.import_module("op_cases").CASES:
        words = case.name.removeprefix("tl_").split("_")
        for end in range(len(words), 0, -1):
            name = "_".join(words[:end])
            if hasattr(tl, name):
                rows.setdefault(name, []).extend((case, dtype) for dtype in case.dtypes)
                break
    return rows


def on_gpu(name: str, rows: list[tuple[Any, str]]) -> str:
    """Whether the GPU compiler has what a function becomes; what it lacks otherwise."""
    gpu_rows = importlib.import_module("gpu_rows")
    lowered = set(_core.gpu.lowered_ops())
    if not rows:
        lacks = {BECOMES.get(name, "")} - lowered - {""}
        return f"no: `{lacks.pop()}`" if lacks else "yes"
    lacking: set[str] = set()
    failing = 0
    for case, dtype in rows:
        missing = gpu_rows.run_time_ops(case, dtype) - lowered
        failing += bool(missing)
        lacking |= missing
    if not failing:
        return "yes"
    names = ", ".join(f"`{op}`" for op in sorted(lacking))
    return f"no: {names}" if failing == len(rows) else f"{failing / len(rows):.0%} lack {names}"


def texts_that_use() -> list[str]:
    folders = ("tests/python/*.py", "tests/kernels/*.py", "examples/*.py")
    return [path.read_text() for folder in folders for path in sorted(ROOT.glob(folder))]


def _error(on_cpu: float, on_gpu: float) -> str:
    return f"{on_cpu:g}" if on_gpu == on_cpu else f"{on_cpu:g}, GPU {on_gpu:g}"


def facts_table() -> str:
    lines = []
    for row in _core.op_facts():
        cpu32, gpu32, cpu64, gpu64 = row["ulps"]
        combines = row["identity"] or ""
        if combines and not row["any_order"]:
            combines += ", order rounds"
        cells = (
            f"`{row['name']}`", row["operands"] if row["elementwise"] else "", row["memory"],
            combines, _error(cpu32, gpu32), _error(cpu64, gpu64), row["cost"],
        )  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |\n")
    return FACTS_HEADER + "".join(lines)


def page() -> str:
    rows, texts = rows_by_function(), texts_that_use()
    parts, seen = [HEADER], set()
    for module_name, title in FAMILIES.items():
        module = importlib.import_module(f"blockscope.language.{module_name}")
        names = [
            name
            for name in sorted(getattr(module, "__all__", ()))
            if callable(getattr(tl, name, None)) and name not in seen and name not in TYPES
        ]
        seen.update(names)
        if not names:
            continue
        parts.append(
            f"\n## {title}\n\n| op | whole | step | GPU | rows | kernels |\n"
            "|---|---|---|---|---|---|\n"
        )
        for name in names:
            about = (getattr(tl, name).__doc__ or "").lower()
            mark = "no" if "not supported yet" in about else "yes"
            use = re.compile(
                rf"\btl\.(math\.)?{name}\(|\.{name}\(" if rows.get(name) else rf"\btl\.{name}\b"
            )
            used = any(use.search(text) for text in texts)
            mine = rows.get(name, [])
            gpu = on_gpu(name, mine) if mark == "yes" else mark
            cells = (f"`tl.{name}`", mark, mark, gpu, len(mine) or "", "yes" if used else "")
            parts.append("| " + " | ".join(map(str, cells)) + " |\n")
    return "".join(parts) + facts_table()


if __name__ == "__main__":
    (ROOT / "docs" / "ops.md").write_text(page())
