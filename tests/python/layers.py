"""Who imports and includes whom, and what docs/architecture.md allows: what test_layers.py asks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Graph = Mapping[str, Iterable[str]]


@dataclass
class Row:
    """One row of a table of layers: what it is about, and what that may use."""

    names: list[str]
    uses: set[str]
    public: list[str]  # folders and files whose headers others may include


def rows_of(text: str, first_column: str) -> list[Row]:
    """The table of a page whose head begins with ``first_column``.

    Names are in backquotes. "all above" means the rows above, "all" means every row; the names
    behind "but" are left out.
    """
    lines = iter(text.splitlines())
    head = next(line for line in lines if line.startswith(f"| {first_column} |"))
    titles = [title.strip() for title in head.strip("| ").split("|")]
    next(lines)
    cells = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells.append([cell.strip() for cell in line.strip("| ").split("|")])
    all_names = [_names(row[0]) for row in cells]
    rows: list[Row] = []
    for row, names in zip(cells, all_names, strict=True):
        rule, _, but = row[2].partition(" but ")
        if rule.startswith("all"):
            others = all_names[: len(rows)] if rule == "all above" else all_names
            uses = {name for group in others for name in group} - set(_names(but))
        else:
            uses = set(_names(row[2]))
        public = _names(row[3]) if len(titles) > 3 else []
        rows.append(Row(names, uses, public))
    return rows


def _names(cell: str) -> list[str]:
    return [name.rstrip("/") for name in re.findall(r"`([^`]+)`", cell)]


def python_imports(root: Path) -> dict[str, set[str]]:
    """For each module of the package at ``root`` the modules of it that its text imports, at the
    top or inside functions. The packages that a module lies in do not count."""
    package = root.name
    modules = {}
    for file in sorted(root.rglob("*.py")):
        parts = (package, *file.relative_to(root).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    found = {}
    known = {*modules, f"{package}._core"}  # the extension module
    for name, file in modules.items():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = set(_imported(tree))
        found[name] = {m for m in _resolved(imported, known) if m in modules and m != name}
    return found


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each imported module, with the name that is taken from it or ''."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports are not used here"
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            if isinstance(node.args[0], ast.Constant):
                yield node.args[0].value, ""


def _resolved(imported: Iterable[tuple[str, str]], modules: set[str]) -> Iterator[str]:
    for module, name in imported:
        if f"{module}.{name}" in modules:
            yield f"{module}.{name}"
        elif module in modules:
            yield module


def circles(graph: Graph) -> list[list[str]]:
    """The groups of nodes that reach one another."""
    reached = {node: _reachable(graph, node) for node in graph}
    groups = {
        tuple(sorted(other for other in reached[node] if node in reached.get(other, ())))
        for node in graph
        if node in reached[node]
    }
    return [list(group) for group in sorted(groups)]


def _reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    todo = list(graph[start])
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo.extend(graph.get(node, ()))
    return seen


def wrong_imports(imports: Graph, rows: list[Row]) -> list[str]:
    """What modules import that their layer may not."""
    layer_of = {name: row for row in rows for name in row.names}

    def layer(module: str) -> str:
        _, _, path = module.partition(".")
        return path.partition(".")[0] or "__init__"

    wrong = []
    for module, others in imports.items():
        row = layer_of.get(layer(module))
        if row is None:
            wrong.append(f"{module} stands in no row")
            continue
        for other in sorted(others):
            if layer(other) != layer(module) and layer(other) not in row.uses:
                wrong.append(f"{module} imports {other}")
    return wrong


_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def wrong_includes(root: Path, files: Iterable[str], rows: list[Row]) -> list[str]:
    """What C++ files include that their folder may not, or that is private to another one."""
    row_of = {name: row for row in rows for name in row.names}
    wrong = []
    for file in files:
        mine = file.partition("/")[0]
        for header in _INCLUDE.findall((root / file).read_text(encoding="utf-8")):
            theirs = header.partition("/")[0]
            if theirs not in row_of or theirs == mine:
                continue  # a header of a library, or of the file's own component
            public = row_of[theirs].public
            if theirs not in row_of[mine].uses:
                wrong.append(f"{file} includes {header}")
            elif mine != "tests" and not {header, header.rpartition("/")[0]} & set(public):
                wrong.append(f"{file} includes the private {header}")
    return wrong


_NAMESPACE = re.compile(r"^namespace (blockscope[\w:]*) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_DECLARED = re.compile(r"(?:(?:class|struct|enum class) [\w: ]+;)?\s*(?://.*)?$")


def wrong_namespaces(
    root: Path, files: Iterable[str], spaces: Mapping[str, Iterable[str]]
) -> list[str]:
    """What C++ files define in a namespace that is not one of their folder, the longest name of a
    folder that fits; to declare a class of another one is fine."""
    wrong = []
    for file in files:
        folder = max((name for name in spaces if file.startswith(f"{name}/")), key=len)
        allowed = set(spaces[folder])
        for name, body in _NAMESPACE.findall((root / file).read_text(encoding="utf-8")):
            is_declaring = all(_DECLARED.match(line.strip()) for line in body.splitlines())
            if name not in allowed and not is_declaring:
                wrong.append(f"{file} defines something in {name}")
    return wrong
