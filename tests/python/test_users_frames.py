"""Tracebacks of mistakes show the user's frames only."""

import builtins
import os
import subprocess
import sys
import traceback

import blockscope as triton
import blockscope.language as tl
import pytest
from blockscope.compat.compiler.compiler import ASTSource, compile, make_backend
from blockscope.frontend import tracebacks
from blockscope.target import GPUTarget

torch = pytest.importorskip("torch")


@triton.jit
def kernel(x_ptr, n, B: tl.constexpr):
    offsets = tl.arange(0, B)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets), mask=offsets < n)


def said(statement):
    """The last line and the files of the traceback of a statement, which raises."""
    source = ASTSource(kernel, {"x_ptr": "*fp32", "n": "i32", "B": "constexpr"}, {"B": 16})
    names = {
        "ASTSource": ASTSource, "GPUTarget": GPUTarget, "compile": compile, "kernel": kernel,
        "make_backend": make_backend, "source": source, "triton": triton, "x": torch.zeros(16),
        "__name__": "__main__",
    }  # fmt: skip
    try:
        exec(builtins.compile(statement, "statement.py", "exec"), names)
    except Exception as error:
        lines = traceback.format_exception_only(error)
        return lines[-1], [f.filename for f in traceback.extract_tb(error.__traceback__)][1:]
    raise AssertionError("nothing was raised")


CASES = {
    "compile(source, target=GPUTarget('hip', 'gfx942', 64))": "ValueError: there is no back end",
    "compile(source, target=GPUTarget('cuda', 33, 32))": "ValueError: unknown GPU architecture",
    "make_backend(GPUTarget('hip', 1, 64))": "ValueError: there is no back end",
    "compile('x.ttir')": "FileNotFoundError",
    "compile(source)[(1,)]('a', 'b', 'c', 'd')": "TypeError",
    "ASTSource(kernel, {'z': 'i32'})": "ValueError: ASTSource got 'z'",
    "triton.runtime.driver.set_active_to_gpu()": "blockscope.errors.NoGpu: set_active_to_gpu found",
    "kernel.warmup(x, 16, 16, grid=(1,), num_warps=3, arch='sm_90')": "ValueError: num_warps is 3",
    "kernel.run(x, 16, grid=(1,))": "TypeError: kernel 'kernel'",
    "kernel.preload('{}')": "ValueError: preload of 'kernel' got '{}'",
    "kernel[lambda meta: 1 // 0](x, 16, 16)": "ZeroDivisionError",
}
NO_GPU = {
    "kernel[(1,)](x, 16, 16)": "blockscope.errors.NoGpu: there is no CUDA driver",
    "triton.runtime.driver.active.get_current_target()": "blockscope.errors.NoGpu: there is no",
    "compile(source)": "blockscope.errors.NoGpu: there is no CUDA driver",
}


@pytest.mark.parametrize("statement", CASES)
def test_frames_of_a_mistake(statement):
    error, files = said(statement)
    assert error.startswith(CASES[statement])
    assert files in (["statement.py"], ["statement.py"] * 2)  # the second one of a grid


ALL = """
import test_users_frames
for statement, start in test_users_frames.NO_GPU.items():
    error, files = test_users_frames.said(statement)
    assert error.startswith(start) and files == ["statement.py"], (error, files)
"""


def test_frames_where_there_is_no_gpu():
    if os.path.exists("/dev/nvidia0"):
        pytest.skip("this machine has a GPU")
    done = subprocess.run(
        [sys.executable, "-c", ALL], cwd=os.path.dirname(__file__), capture_output=True, text=True,
        env={**os.environ, "TRITON_DEFAULT_BACKEND": "cuda"}, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_whoever_works_on_the_front_end_sees_all_frames(monkeypatch):
    monkeypatch.setenv("TRITON_FRONT_END_DEBUGGING", "1")
    _, files = said("compile(source, target=GPUTarget('hip', 1, 64))")
    assert files[0] == "statement.py" and files[-1].endswith("compiler.py")


def test_an_error_at_an_instruction_without_a_line_stays_that_error():
    """As Ctrl-C at the jump of a loop."""
    code = builtins.compile("raise KeyboardInterrupt", "kernel_file.py", "exec").replace(
        co_linetable=b""
    )
    try:
        exec(code)
    except KeyboardInterrupt as error:
        trace = error.__traceback__
        assert trace.tb_next.tb_lineno is None
        shown = tracebacks.users_frames(error, trace)
    assert shown.tb_next.tb_frame.f_code is code and shown.tb_next.tb_lineno == 1


def test_the_cause_of_an_error_is_there_for_programs_and_not_said_twice(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(
        "import blockscope as triton, blockscope.language as tl\n"
        "@triton.jit\ndef wrong(): tl.program_id(20)\n"
        "try:\n    wrong[(1,)]()\n"
        "except triton.CompilationError as error:\n"
        "    print(repr(error.__cause__), error.__cause__.__traceback__)\n"
        "    error.__cause__ = KeyError('another')\n"
        "    print(repr(error.__cause__))\n"
        "wrong[(1,)]()\n"
    )
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    cause = "ValueError('program_id axis must be 0, 1, or 2 but got 20')"
    assert done.stdout == f"{cause} None\nKeyError('another')\n", done.stderr
    if sys.version_info < (3, 13):  # whose report of an uncaught error reads the attribute
        assert done.stderr.count("program_id axis") == 1, done.stderr
