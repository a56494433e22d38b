"""Kernels whose source is not in a file: made by exec or a template, typed, edited meanwhile."""

import inspect
import linecache
import os
import re
import subprocess
import sys
import textwrap
import types

import blockscope as triton
import blockscope.language as tl
import pytest
import torch
from blockscope.errors import SourceNotFound

HEADER = "import blockscope as triton\nimport blockscope.language as tl\n"

KERNEL = '''\
@triton.jit
def scale(x, factor=None, *rest, power: tl.constexpr = 1):
    if factor is None:
        factor = 2.0
    for _ in tl.static_range(power):
        x = x * factor
    return x + rest[0] + rest[1]


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, MODE: tl.constexpr = None):
    """Docstring."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(0, n, 2):
        total += i
    for i in tl.range(3):
        total += x.to(tl.float32) * i
    if MODE is None and isinstance(BLOCK, int):
        total = max(total, float(BLOCK))
    if n > 3 and n < 100:
        total = total + scale(x, None, 1.0, x, power=2)
    tl.store(y_ptr + offsets, total, mask=mask)
'''


@pytest.fixture(params=["whole", "steps"])
def steps(request):
    triton.set_interpret_mode(request.param == "steps")
    yield request.param == "steps"
    triton.set_interpret_mode(False)


def make(text=KERNEL, **names):
    """The names that a text defines, as exec leaves them: without a source."""
    exec(HEADER + text, names)
    return names


def launch(kernel, n=10):
    x, y = torch.arange(n, dtype=torch.float32), torch.zeros(n)
    kernel[(2,)](x, y, n, BLOCK=8)
    return y.tolist()


def definition(name, text=KERNEL):
    """The text of one function of ``text``."""
    return next(part for part in text.split("\n\n\n") if f"def {name}(" in part)


EXPECTED = [max(20 + 3.0 * v, 8.0) + (4 * v + 1 + v) for v in range(10)]


def test_step_mode_runs_a_function_without_a_source_as_it_is():
    triton.set_interpret_mode(True)
    try:
        assert launch(make()["kernel"]) == EXPECTED
    finally:
        triton.set_interpret_mode(False)


def test_a_whole_kernel_without_a_source_is_one_clear_error():
    with pytest.raises(SourceNotFound, match="no text for line 12 of '<string>'"):
        launch(make()["kernel"])
    kernel = make()["kernel"]
    kernel.src = definition("kernel")
    with pytest.raises(triton.CompilationError, match="source of @jit function 'scale'") as caught:
        launch(kernel)
    assert "scale(x, None, 1.0, x, power=2)" in str(caught.value)  # the line that calls it


def test_checks_of_a_stepped_kernel_without_a_source():
    kernel = make("""
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, 8), 1)
""")["kernel"]
    triton.set_interpret_mode(True)
    try:
        with triton.check() as report:
            kernel[(1,)](torch.zeros(4))
    finally:
        triton.set_interpret_mode(False)
    assert "<string>:6:5: error[oob-store]: store of 4 bytes at byte 16" in str(report)


def test_breakpoints_of_a_kernel_without_a_source_ask_for_the_program(monkeypatch):
    kernel = make("""
@triton.jit
def kernel(x_ptr):
    pid = tl.program_id(0)
    breakpoint()
    tl.store(x_ptr + pid, pid)
""")["kernel"]
    stops = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(1))
    monkeypatch.setenv("BLOCKSCOPE_PROGRAM", "1,0,0")
    triton.set_interpret_mode(True)
    try:
        kernel[(3,)](torch.zeros(3))
    finally:
        triton.set_interpret_mode(False)
    assert stops == [1]
    with pytest.raises(TypeError):  # the module's own breakpoint is as it was
        exec("breakpoint(no_such_argument=1)", kernel.fn.__globals__)


@pytest.mark.parametrize("how", ["src", "_unsafe_update_src"])
def test_a_text_that_is_set_is_the_source(how, steps):
    made = make(KERNEL.replace("2.0", "7.0"))
    for name in ("scale", "kernel"):
        fn, text = made[name], definition(name)
        text = text[text.index("def ") :]
        if how == "src":
            fn.src = text
        else:
            fn._unsafe_update_src(text)
        assert fn.src == text
    assert launch(made["kernel"]) == EXPECTED


def test_a_text_may_be_set_for_a_function_that_is_only_a_name(steps):
    # As libraries do that make kernels from templates.
    written = make("def scaled(x_ptr, factor: tl.constexpr):\n    pass\n")["scaled"]
    text = "def scaled(x_ptr, factor: tl.constexpr):\n    tl.store(x_ptr, HELPED(factor))\n"

    def empty():
        pass

    values = {**globals(), "tl": triton.language, "HELPED": triton.jit(_doubled)}
    empty = type(empty)(empty.__code__, values)
    empty.__signature__ = __import__("inspect").signature(written)
    empty.__name__ = "scaled"
    kernel = triton.jit(empty)
    kernel._unsafe_update_src(text)
    x = torch.zeros(1)
    kernel[(1,)](x, factor=4)
    assert x.item() == 8


def _doubled(x):
    return x * 2


def test_an_error_in_a_text_that_was_set_shows_that_text():
    kernel = make()["kernel"]
    kernel._unsafe_update_src("def kernel(x_ptr, y_ptr, n, BLOCK, MODE=None):\n    x_ptr.nothing\n")
    with pytest.raises(triton.CompilationError) as caught:
        launch(kernel)
    assert re.match(r"<kernel kernel \d+>:2:5: error", str(caught.value))
    assert "    x_ptr.nothing" in str(caught.value)


@triton.jit
def in_this_file(x_ptr):
    """Two lines above the definition's first statement."""
    triton.language.store(x_ptr, 1)


def test_a_changed_text_keeps_its_place_in_the_file():
    before = in_this_file.src
    try:
        in_this_file._unsafe_update_src(before.replace("store(x_ptr, 1)", "store(x_ptr, nothing)"))
        with pytest.raises(triton.CompilationError) as caught:
            in_this_file[(1,)](torch.zeros(1))
    finally:
        in_this_file._unsafe_update_src(before)
    line = in_this_file.fn.__code__.co_firstlineno + 3
    assert f"{__file__}:{line}:" in str(caught.value), caught.value
    x = torch.zeros(1)
    in_this_file[(1,)](x)
    assert x.item() == 1


@triton.jit
def template(out_ptr, epilogue: tl.constexpr, parameters: tl.constexpr):
    value = epilogue(1.0, parameters[0])
    tl.store(out_ptr, value)


@triton.jit
def plus(x, y):
    return x + y


def specialised(name, header):
    """``template`` with ``epilogue`` and ``parameters`` filled in, as libraries make kernels of
    others: a function that is only a name, with the text and the place of the other one."""
    lines = template.src.splitlines(keepends=True)
    text = "".join([*header, *lines[1:]])
    names = {**template.get_capture_scope(), "plus": plus}
    scope = dict(names)
    exec(text, scope)

    def nothing():
        pass

    fn = types.FunctionType(nothing.__code__, names)
    fn.__name__ = name
    fn.__signature__ = inspect.signature(scope[name])
    made = triton.JITFunction(fn, None, template.do_not_specialize, repr=template.repr)
    made._unsafe_update_src(text)
    made.raw_src = list(template.raw_src)
    made.starting_line_number = template.starting_line_number - (len(header) - 1)
    code = template.fn.__code__
    made.fn.__code__ = made.fn.__code__.replace(co_filename=code.co_filename)
    return made


def test_a_kernel_made_of_the_text_of_another_one_has_its_lines(steps):
    header = ["def doubled(out_ptr, y):\n", "    epilogue: tl.constexpr = plus\n"]
    kernel = specialised("doubled", [*header, "    parameters = (y,)\n"])
    out = torch.zeros(1)
    kernel[(1,)](out, 4.0)
    assert out.item() == 5.0
    first = template.fn.__code__.co_firstlineno
    assert template.starting_line_number == first
    with triton.check("asan") as report:
        kernel[(1,)](out[1:], 4.0)
    (finding,) = report.findings
    assert (finding.file, finding.line) == (__file__, first + 3)
    assert "    tl.store(out_ptr, value)" in report.text()


def test_the_scope_of_a_kernel_has_the_names_of_the_functions_around_it():
    factor = tl.constexpr(3)

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, factor)

    assert kernel.get_capture_scope()["factor"] is factor
    assert kernel.get_capture_scope()["template"] is template
    assert template.get_capture_scope() is not None and "factor" not in template.get_capture_scope()


def test_hooks_name_the_function_as_it_is_called_now(monkeypatch):
    named = []
    hook = lambda *, fn, compile, **_: named.append((fn.module, fn.name))
    monkeypatch.setattr(triton.knobs.runtime, "jit_cache_hook", hook)
    header = ["def found(out_ptr):\n", "    epilogue: tl.constexpr = plus\n"]
    kernel = specialised("found", [*header, "    parameters = (1.0,)\n"])
    kernel.fn.__module__, kernel.fn.__qualname__ = "library.kernels", "found_by_name"
    kernel[(1,)](torch.zeros(1))
    assert named == [("library.kernels", "found_by_name")]


def test_a_text_without_a_definition_is_refused():
    with pytest.raises(ValueError, match="expected a 'def'"):
        make()["kernel"]._unsafe_update_src("x = 1")


def test_the_text_may_be_an_attribute_of_the_function(steps):
    names = {}
    exec(HEADER + KERNEL.replace("@triton.jit\n", ""), names)
    for name in ("scale", "kernel"):
        names[name].__source__ = definition(name)
        names[name] = triton.jit(names[name])
    assert launch(names["kernel"]) == EXPECTED


def test_the_text_may_be_in_linecache(steps):
    text = HEADER + KERNEL
    linecache.cache["<made>"] = len(text), None, text.splitlines(True), "<made>"
    names = {}
    exec(compile(text, "<made>", "exec"), names)
    linecache.cache.pop("<made>")  # it was taken when the kernel was decorated
    assert launch(names["kernel"]) == EXPECTED


def test_the_text_may_be_what_was_typed_at_a_prompt(monkeypatch):
    # Later versions of Python keep the text of a prompt by its code.
    text = HEADER + KERNEL
    of_code = {"scale": text.splitlines(True), "kernel": text.splitlines(True)}
    monkeypatch.setattr(
        linecache, "_getlines_from_code", lambda code: of_code[code.co_name], raising=False
    )
    names = {}
    exec(compile(text, "<python-input-7>", "exec"), names)
    assert launch(names["kernel"]) == EXPECTED


def test_a_file_edited_after_its_import_changes_nothing(tmp_path, steps):
    path = tmp_path / "edited_kernel.py"
    path.write_text(HEADER + KERNEL)
    names = {"__name__": "edited_kernel"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    path.write_text("# a new first line\n" + HEADER + KERNEL.replace("2.0", "9.0"))
    assert launch(names["kernel"]) == EXPECTED


def test_what_python_warns_of_in_a_kernel_it_says_alone(tmp_path):
    """As an error, too, it would stop a launch of a module that is compiled already."""
    (tmp_path / "made.py").write_text(
        HEADER + '@triton.jit\ndef kernel(x, n: tl.constexpr):\n    "a \\d"\n'
        "    if n is 1:\n        tl.store(x, n)\n"
    )
    (tmp_path / "run.py").write_text(
        "import sys, warnings, numpy as np, blockscope, made\n"
        "x = np.zeros(2, np.int32)\n"
        "for step in False, True:\n"
        "    blockscope.set_interpret_mode(step)\n"
        "    for action in 'error', 'default':\n"
        "        warnings.simplefilter(action, SyntaxWarning)\n"
        "        warnings.simplefilter(action, DeprecationWarning)\n"
        "        before = list(warnings.filters)\n"
        "        made.kernel[1,](x, len(action) - 4)\n"
        "        assert warnings.filters == before and made.kernel.src\n"
        "print(x[0])\n"
    )
    subprocess.run([sys.executable, "-m", "py_compile", tmp_path / "made.py"], check=True)
    done = subprocess.run([sys.executable, tmp_path / "run.py"], capture_output=True, text=True)
    assert done.stdout == "1\n" and "Warning" not in done.stderr, done.stderr


def test_another_text_in_the_place_of_a_function_is_not_taken_for_it(tmp_path):
    path = tmp_path / "template.py"
    path.write_text("# {{ a template }}\n\n" + HEADER + KERNEL)
    names = {}
    exec(compile(HEADER + KERNEL, str(path), "exec"), names)
    with pytest.raises(SourceNotFound, match=r"line 12 of '.*template.py' holds another text"):
        launch(names["kernel"])


def test_strings_of_an_indented_kernel_stay_as_they_are():
    def make_kernel():
        @triton.jit
        def kernel(x_ptr):
            text: triton.language.constexpr = """a
  b"""
            triton.language.store(x_ptr, len(text))

        return kernel

    x = torch.zeros(1, dtype=torch.int32)
    make_kernel()[(1,)](x)
    assert x.item() == len("a\n  b")


def test_the_state_of_a_kernel_has_its_source_and_not_the_whole_file():
    state = in_this_file.__getstate__()
    assert state["function_source"].text.endswith("triton.language.store(x_ptr, 1)\n")
    assert "_lines" not in state
    assert "function_source" not in make()["kernel"].__getstate__()


SCRIPT = textwrap.dedent("""\
    import torch
    import blockscope as triton
    import blockscope.language as tl
    @triton.jit
    def kernel(x_ptr, n):
        if n > 1 and n < 5:
            tl.store(x_ptr, n)
    x = torch.zeros(1)
    kernel[(1,)](x, 3)
    print(x.item())
    """)


def python(*arguments, **options):
    result = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, **options
    )
    return result.returncode, result.stdout.strip(), result.stderr


@pytest.mark.parametrize("flags", [["-c"], ["-B", "-W", "ignore", "-c"]])
def test_a_kernel_on_the_command_line(flags):
    assert python(*flags, SCRIPT, "an", "argument")[:2] == (0, "3.0")
    assert python(*flags[:-1], "-c" + SCRIPT, "-c")[:2] == (0, "3.0")


def test_a_kernel_from_standard_input(tmp_path):
    path = tmp_path / "script"
    path.write_text(SCRIPT)
    with path.open() as file:
        assert python("-", stdin=file)[:2] == (0, "3.0")
    code, _, errors = python("-", input=SCRIPT)  # a pipe: its text is gone
    assert code == 1 and "Python keeps no text for line 4 of '<stdin>'" in errors
    assert "blockscope/" not in errors  # the user's lines alone
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    assert python("-", input=SCRIPT, env=environment)[:2] == (0, "3.0")
