"""C++ that calls Python must never be waited for with Python's lock held (CONTRIBUTING, "Threads").

A static with an initialiser has a guard, at which other threads wait; so has every lock. So
python/src has neither: what is made once is a ``MadeOnce``. Python's own lock is taken and given up
by the classes of python_lock.h alone, which know what to do when Python ends.
"""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "python" / "src"

STATIC = re.compile(r"^\s+(?:\[\[\w+\]\]\s+)?static\s+(?!constexpr\b|constinit\b)[^(;={]*[;={].*")
LOCK = re.compile(
    r"\bstd::(?:\w*mutex|\w*lock|lock_guard|call_once|once_flag|condition_variable\w*)\b|"
    r"\bgil_safe_call_once|\bpthread_(?:mutex|once|cond|rwlock)|\bllvm::(?:sys::)?\w*Mutex\b"
)

GIL = re.compile(r"\bgil_scoped_|\bPyGILState_|\bPyEval_(?:Save|Restore|Acquire|Release)Thread")
PATTERNS = {"static with an initialiser": STATIC, "lock": LOCK, "Python's lock": GIL}


def broken_rules(text: str) -> list[str]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        for what, pattern in PATTERNS.items():
            if pattern.search(code):
                found.append(f"{number}: {what}: {line.strip()}")
    return found


def test_no_static_and_no_lock_where_python_is_called():
    files = sorted([*SOURCE.glob("*.cpp"), *SOURCE.glob("*.h")])
    assert len(files) > 20
    found = [
        f"{file.name}:{rule}"
        for file in files
        for rule in broken_rules(file.read_text())
        if not (file.stem == "python_lock" and "Python's lock" in rule)
    ]
    assert not found, "\n".join(found)


def test_the_rules_find_what_they_forbid():
    for line in (
        "  static const auto *instance = [] {",
        "  static Names names;",
        "  static py::object type{module};",
        "  std::lock_guard lock(mutex);",
        "  py::gil_scoped_release release;",
        "  PyEval_SaveThread();",
        "  const std::unique_lock<std::mutex> lock(mutex_);",
        "  std::call_once(once, [] {",
        "  static constinit py::gil_safe_call_once_and_store<int> once;",
    ):
        assert broken_rules(line), line
    for line in (
        "  static constinit MadeOnce<Names> made;",
        "  static constexpr int kSizes[] = {1, 2};",
        "  static bool asks(const py::object &error) {",
        "  [[noreturn]] static void throwStopped() {",
        "  static handle cast(const Type &type, return_value_policy, handle) {",
        "  return static_cast<int>(x); // static int x = f();",
    ):
        assert not broken_rules(line), line
