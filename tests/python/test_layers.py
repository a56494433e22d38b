"""Layers look down only: imports and includes are held to the tables of docs/architecture.md."""

import importlib
import re
from pathlib import Path

import layers
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
FOLDERS = layers.rows_of(PAGE, "folder")
MODULES = layers.rows_of(PAGE, "module")
IMPORTS = layers.python_imports(ROOT / "python/blockscope")


def cpp_files():
    found = [
        str(file.relative_to(ROOT))
        for row in FOLDERS
        for name in row.names
        for kind in ("*.cpp", "*.h")
        for file in (ROOT / name).rglob(kind)
    ]
    assert len(found) > 300
    return found


def test_cpp_writes_to_stderr_in_few_places():
    """A program's own output is the user's: what is left from looking for a mistake shows here."""
    writes = re.compile(r"\b(llvm::(errs|outs|dbgs)\(\)|std::(cerr|cout)|f?printf\()")
    found = {
        file
        for file in cpp_files()
        if file.startswith(("core/", "gpu_backend/", "interpreter/", "sanitizer/"))
        and writes.search((ROOT / file).read_text(encoding="utf-8"))
    }
    assert found == {
        "core/guarded.cpp",  # LLVM's last words
        "core/passes/pass_dumps.cpp",  # MLIR_ENABLE_DUMP
        "gpu_backend/named_passes.cpp",  # print-plan
        "gpu_backend/tools/blk_opt.cpp",
        "gpu_backend/tools/emit_code.cpp",
    }


def test_python_imports_keep_to_their_layers():
    assert len(IMPORTS) > 100
    assert layers.wrong_imports(IMPORTS, MODULES) == []


def test_python_has_no_circles():
    assert layers.circles(IMPORTS) == []


def test_every_module_of_the_table_is_there():
    modules = {name.partition(".")[2].partition(".")[0] or "__init__" for name in IMPORTS}
    assert {name for row in MODULES for name in row.names} == modules


def test_includes_keep_to_their_layers():
    assert layers.wrong_includes(ROOT, cpp_files(), FOLDERS) == []


#: The namespaces of each folder. What gpu_backend offers others is in `blockscope` itself.
NAMESPACES = {
    "core": ("blockscope", *(f"blockscope::{name}" for name in ("hdf5", "numeric", "ptx", "tl"))),
    "interpreter": (
        "blockscope::interpreter",
        *(f"blockscope::interpreter::{name}" for name in ("BLK_ISA", "flat", "ptx", "special")),
    ),
    "sanitizer": ("blockscope::sanitizer",),
    "gpu_backend": ("blockscope", "blockscope::gpu", "blockscope::gpu::f2", "blockscope::tlg"),
    **{
        f"gpu_backend/{folder}": ("blockscope::gpu", "blockscope::gpu::f2", "blockscope::tlg")
        for folder in ("codegen", "ir", "layout", "lowering", "passes", "pipelining", "report")
    },
    "viz": ("blockscope::viz", "blockscope::viz::theme"),
    "python": ("blockscope::python",),
}


def test_each_component_has_its_namespace():
    files = [file for file in cpp_files() if not file.startswith("tests/")]
    assert layers.wrong_namespaces(ROOT, files, NAMESPACES) == []


def test_code_asks_a_gpu_for_features_not_for_its_number():
    files = [file for file in cpp_files() if file.startswith("gpu_backend/")]
    own = ("gpu_backend/gpu_target.", "gpu_backend/driver/devices.")
    asking = [
        file
        for file in files
        if not file.startswith(own) and re.search(r"\bcapability\b", (ROOT / file).read_text())
    ]
    assert len(files) > 100 and asking == []


def test_the_tables_have_no_circles():
    for rows in (FOLDERS, MODULES):
        assert layers.circles({n: row.uses - {n} for row in rows for n in row.names}) == []


def test_modules_that_cpp_asks_for_are_there():
    asked = set()
    for file in (ROOT / "python/src").glob("*.cpp"):
        pattern = r'import\("(blockscope[\w.]+)"\)\s*\.attr\("(\w+)"\)'
        asked |= set(re.findall(pattern, file.read_text(encoding="utf-8")))
    assert len(asked) > 5
    for module, name in asked:
        assert hasattr(importlib.import_module(module), name), (module, name)


# -- that the checks above can fail ----------------------------------------------------------------

TABLE = """
| module | holds | may import |
|---|---|---|
| `low` | | - |
| `middle`, `beside` | | `low` |
| `high` | | all above but `beside` |
"""


@pytest.fixture
def package(tmp_path):
    root = tmp_path / "box"
    for name, text in {
        "low": "import os\n",
        "middle/__init__": "",
        "middle/inner": "from box import low\n",
        "beside": "import box.low\n",
        "high": "from box.middle.inner import low\n",
    }.items():
        file = root / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_a_clean_package_is_clean(package):
    imports = layers.python_imports(package)
    assert imports["box.high"] == {"box.middle.inner"} and imports["box.low"] == set()
    assert layers.wrong_imports(imports, layers.rows_of(TABLE, "module")) == []
    assert layers.circles(imports) == []


@pytest.mark.parametrize(
    "text",
    [
        "from box.middle import inner",
        "def later():\n    from box.middle.inner import low",
        "def later():\n    import box.middle.inner",
        "import importlib\nmodule = importlib.import_module('box.middle.inner')",
    ],
)
def test_a_planted_import_is_found(package, text):
    (package / "low.py").write_text(text)
    imports = layers.python_imports(package)
    wrong = layers.wrong_imports(imports, layers.rows_of(TABLE, "module"))
    assert wrong == ["box.low imports box.middle.inner"]
    assert layers.circles(imports) == [["box.low", "box.middle.inner"]]


def test_a_layer_that_is_left_out_is_found(package):
    (package / "high.py").write_text("from box import beside")
    (package / "new.py").write_text("")
    wrong = layers.wrong_imports(layers.python_imports(package), layers.rows_of(TABLE, "module"))
    assert wrong == ["box.high imports box.beside", "box.new stands in no row"]


@pytest.mark.parametrize(
    "text, is_wrong",
    [
        ("namespace blockscope::top {\nint x;\n} // namespace blockscope::top\n", False),
        (
            "namespace blockscope {\nclass A;\n\nstruct B; // there\n} // namespace blockscope\n",
            False,
        ),
        ("namespace blockscope {\nclass A;\nint x;\n} // namespace blockscope\n", True),
        ("namespace blockscope::top::inner {\nint x;\n}\n", True),
        ("namespace mlir {\nint x;\n}\n", False),
    ],
)
def test_a_planted_namespace_is_found(tmp_path, text, is_wrong):
    (tmp_path / "top").mkdir()
    (tmp_path / "top/a.h").write_text(text)
    found = layers.wrong_namespaces(tmp_path, ["top/a.h"], {"top": ["blockscope::top"]})
    assert bool(found) is is_wrong


HEADERS = """
| folder | holds | may include | public headers |
|---|---|---|---|
| `base/` | | - | `base/`, `base/open/`, `base/deep/one.h` |
| `top/` | | `base` | - |
| `tests/` | | all | - |
"""


@pytest.mark.parametrize(
    "file, header, wrong",
    [
        ("top/a.cpp", "base/a.h", ""),
        ("top/a.cpp", "base/open/a.h", ""),
        ("top/a.cpp", "base/deep/one.h", ""),
        ("top/a.cpp", "base/deep/two.h", "top/a.cpp includes the private base/deep/two.h"),
        ("base/a.cpp", "base/deep/two.h", ""),
        ("base/a.cpp", "top/a.h", "base/a.cpp includes top/a.h"),
        ("base/a.cpp", "llvm/ADT/ArrayRef.h", ""),
        ("tests/a.cpp", "base/deep/two.h", ""),
    ],
)
def test_a_planted_include_is_found(tmp_path, file, header, wrong):
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(f'// a file\n#include "{header}"\n')
    found = layers.wrong_includes(tmp_path, [file], layers.rows_of(HEADERS, "folder"))
    assert found == ([wrong] if wrong else [])
