"""Writes docs/ops.md: every function of the language, where it runs and what tests it.

Run it with .venv/bin/python after adding an op; a test holds the page to the code.
"""

import importlib
import re
import sys
from pathlib import Path

import blockscope.language as tl

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = {
    "creation": "Programs and creation",
    "shape": "Shape",
    "memory": "Memory",
    "atomics": "Atomics",
    "block_pointer": "Block pointers",
    "descriptor": "Tensor descriptors",
    "elementwise": "Elementwise",
    "math": "Mathematics",
    "linear": "Matrix products",
    "reduce": "Reductions",
    "scan": "Scans",
    "sort": "Sorting and counting",
    "standard": "Written in the language",
    "random": "Random numbers",
    "hints": "Hints",
    "debug": "Debugging",
    "iterators": "Loops",
    "not_yet": "Not supported yet",
}
TYPES = {"tensor_descriptor", "tensor_descriptor_type"}
HEADER = """# The language, op by op

Made by `docs/make_ops_page.py`. *Whole* is the flat program (CPU tensors), *step* is
`TRITON_INTERPRET=1`; both use the same rules and evaluators. *Rows* counts the cases of
`tests/python/op_cases/`, each run in both modes for each of its dtypes and held to NumPy and to
the other mode bit by bit; *kernels* says whether an example, a test kernel or another test uses
the function. The GPU back end has none of them yet.
"""


def rows_by_function() -> dict[str, int]:
    """Counts the op cases of each function, by the name that the row begins with."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    cases = importlib.import_module("op_cases").CASES
    counts: dict[str, int] = {}
    for case in cases:
        words = case.name.removeprefix("tl_").split("_")
        for end in range(len(words), 0, -1):
            name = "_".join(words[:end])
            if hasattr(tl, name):
                counts[name] = counts.get(name, 0) + len(case.dtypes)
                break
    return counts


def texts_that_use() -> list[str]:
    folders = ("tests/python/*.py", "tests/kernels/*.py", "examples/*.py")
    return [path.read_text() for folder in folders for path in sorted(ROOT.glob(folder))]


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
            f"\n## {title}\n\n| op | whole | step | rows | kernels |\n|---|---|---|---|---|\n"
        )
        for name in names:
            about = (getattr(tl, name).__doc__ or "").lower()
            mark = "no" if "not supported yet" in about else "yes"
            use = re.compile(
                rf"\btl\.(math\.)?{name}\(|\.{name}\(" if rows.get(name) else rf"\btl\.{name}\b"
            )
            used = any(use.search(text) for text in texts)
            cells = (f"`tl.{name}`", mark, mark, rows.get(name) or "", "yes" if used else "")
            parts.append("| " + " | ".join(map(str, cells)) + " |\n")
    return "".join(parts)


if __name__ == "__main__":
    (ROOT / "docs" / "ops.md").write_text(page())
