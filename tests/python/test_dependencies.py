"""source_key: changes with all that a kernel's code depends on, and with nothing else."""

import importlib.util
import subprocess
import sys
import textwrap

import blockscope as triton
import pytest
from blockscope.frontend.dependencies import source_key

FILES = {
    "lib": """
        import blockscope as triton
        import blockscope.language as tl
        SCALE = tl.constexpr(2)
        UNUSED = tl.constexpr(5)
        @triton.constexpr_function
        def half(n):
            return n // 2
        @triton.jit
        def inner(x):
            return x * SCALE
        @triton.jit
        def combine(a, b):
            return a + b
    """,
    "main": """
        import blockscope as triton
        import blockscope.language as tl
        import lib
        from lib import inner
        def make(shift):
            amount = tl.constexpr(shift)
            @triton.jit
            def kernel(x, n, BLOCK: tl.constexpr = 16):
                offsets = tl.arange(0, BLOCK)
                v = inner(tl.load(x + offsets)) + amount
                tl.store(x + offsets, v + lib.half(n) + tl.reduce(v, 0, lib.combine))
                kernel_again(x)
            return kernel
        @triton.jit
        def kernel_again(x):
            kernel_again(x)
        kernel = make(3)
    """,
}


@pytest.fixture
def key_of(tmp_path, monkeypatch):
    """The key of `kernel` with some text of some file replaced."""

    def key(file=None, old=None, new=None):
        for name, text in FILES.items():
            text = textwrap.dedent(text)
            if name == file:
                assert old in text
                text = text.replace(old, new)
            (tmp_path / f"{name}.py").write_text(text)
        for name in FILES:
            spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
            module = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, name, module)
            # Not from a bytecode file: two versions may have one size and one second.
            exec(compile((tmp_path / f"{name}.py").read_text(), spec.origin, "exec"), vars(module))
        import linecache

        linecache.checkcache()
        return source_key(sys.modules["main"].kernel)

    return key


CHANGES = {
    "own text": ("main", "+ amount", "- amount"),
    "callee": ("lib", "return x * SCALE", "return SCALE * x"),
    "constant of the callee": (
        "lib",
        "SCALE = tl.constexpr(2)",
        "SCALE = tl.constexpr(3)",
    ),
    "type of a constant": ("lib", "SCALE = tl.constexpr(2)", "SCALE = tl.constexpr(2.0)"),
    "constant around the kernel": ("main", "make(3)", "make(4)"),
    "constexpr function": ("lib", "return n // 2", "return n // 3"),
    "combine function": ("lib", "return a + b", "return a * b"),
    "default": ("main", "= 16", "= 32"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_key_changes_with(what, key_of):
    assert key_of() != key_of(*CHANGES[what])


@pytest.mark.parametrize(
    "change",
    [
        ("lib", "UNUSED = tl.constexpr(5)", "UNUSED = tl.constexpr(6)"),
        ("main", "import lib\n", "import lib; v = offsets = n = BLOCK = 7\n"),
    ],
    ids=["unused", "local of that name"],
)
def test_key_stays_with(change, key_of):
    assert key_of() == key_of() == key_of(*change)


def test_key_is_the_same_in_another_process(key_of, tmp_path):
    key = key_of()
    code = (
        "from blockscope.frontend.dependencies import source_key; import main; "
        "print(source_key(main.kernel))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == key


@triton.jit
def callee(x):
    return x


@triton.jit
def caller(x):
    return callee(x)


def test_hash_follows_the_source_of_what_is_called():
    before = caller.cache_key
    text = callee.src
    callee._unsafe_update_src(text.replace("return x", "return x + 1"))
    try:
        assert caller.cache_key == caller.hash != before
    finally:
        callee._unsafe_update_src(text)
        caller.hash = None  # as files do that know the callers of what they change
    assert caller.cache_key == before


@triton.constexpr_function
def doubled(x):
    return x * FACTOR_OF_DOUBLED


FACTOR_OF_DOUBLED = 2


def test_the_key_of_a_constexpr_function(monkeypatch):
    before = doubled.cache_key
    assert doubled.src.startswith("def doubled(x):") and doubled.cache_key == before
    monkeypatch.setitem(globals(), "FACTOR_OF_DOUBLED", 3)
    assert doubled.cache_key != before


FACTOR_OF_KERNEL = triton.language.constexpr(3)


@triton.jit
def reads_a_variable(x_ptr):
    triton.language.store(x_ptr, FACTOR_OF_KERNEL + doubled(2))


def test_the_variables_that_a_kernel_may_read():
    found = reads_a_variable.used_global_vals
    assert list(found) == [("FACTOR_OF_KERNEL", id(globals()))]
    assert found[("FACTOR_OF_KERNEL", id(globals()))] == (FACTOR_OF_KERNEL, globals())
