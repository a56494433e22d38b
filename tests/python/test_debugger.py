"""Kernels in step mode under a debug adapter: what VS Code and other editors see."""

import os

import pytest

pytest.importorskip("debugpy")
from debug_adapter import Debugger

SCRIPT = """
import numpy as np, triton, triton.language as tl

@triton.jit
def double(x, FACTOR: tl.constexpr):
    doubled = x * FACTOR
    return doubled

@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    y = double(x, 2)
    for i in range(2):
        y += i
    tl.store(out_ptr + offsets, y, mask=offsets < n)

x, out = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
kernel[(2,)](x, out, 6, BLOCK=4)
print("result", out)
"""
LINES = {text.strip(): number for number, text in enumerate(SCRIPT.splitlines(), 1)}
#: As docs/debugging.md has it.
RULES = [{"path": "**/blockscope/**", "include": False}]


@pytest.fixture(params=["command", "variable", "atomics"])
def debugger(request, tmp_path):
    file = tmp_path / "script.py"
    text = SCRIPT
    if request.param == "atomics":  # such a kernel is compiled too before it is stepped
        text = text.replace("    pid = tl.pro", "    tl.atomic_add(out_ptr, 0.0); pid = tl.pro")
    file.write_text(text)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("BLOCKSCOPE_", "TRITON_"))}
    words = ["-m", "blockscope", "run", "--step", "script.py"]
    if request.param == "variable":
        words, env = ["script.py"], env | {"TRITON_INTERPRET": "1", "BLOCKSCOPE_AS_TRITON": "1"}
    with Debugger(words, cwd=tmp_path, env=env) as made:
        made.file = file
        yield made


def test_breakpoints_steps_and_variables(debugger):
    at_double, at_return, at_add = (
        LINES[text] for text in ("y = double(x, 2)", "return doubled", "y += i")
    )
    debugger.start(debugger.file, [at_double, at_return, at_add], justMyCode=True, rules=RULES)
    why, frames = debugger.stopped()
    assert why == "breakpoint"
    assert [each[:2] for each in frames] == [
        ("kernel", at_double),
        ("<module>", LINES["kernel[(2,)](x, out, 6, BLOCK=4)"]),
    ]
    seen = debugger.locals(frames[0][2])
    values = {name: seen[name]["value"] for name in ("pid", "offsets", "x", "n")}
    assert values == {
        "pid": "int32: 0",
        "offsets": "int32[4]: [0 1 2 3]",
        "x": "fp32[4]: [0. 1. 2. 3.]",
        "n": "int32: 6",
    }
    inside = debugger.variables(seen["x"]["variablesReference"])
    assert inside["data"]["value"] == "array([0., 1., 2., 3.], dtype=float32)"
    assert "float32" in inside["dtype"]["value"]

    def evaluated(text):
        return debugger.ask("evaluate", expression=text, frameId=frames[0][2])["result"]

    assert evaluated("x.max()") == "fp32: 3." and evaluated("x.data.sum()").endswith("6.0)")

    debugger.go()
    _, frames = debugger.stopped()  # in the function that the kernel calls
    assert [each[:2] for each in frames[:2]] == [("double", at_return), ("kernel", at_double)]
    assert debugger.locals(frames[0][2])["doubled"]["value"] == "fp32[4]: [0. 2. 4. 6.]"
    debugger.go("stepOut")
    why, frames = debugger.stopped()
    assert why == "step" and frames[0][0] == "kernel"

    debugger.go()
    _, frames = debugger.stopped()
    assert frames[0][:2] == ("kernel", at_add)
    debugger.go("next")
    why, frames = debugger.stopped()
    assert why == "step" and frames[0][:2] == ("kernel", at_add - 1)  # the head of the loop
    debugger.go()
    debugger.stopped()  # i = 1
    debugger.go()
    _, frames = debugger.stopped()  # the second program
    assert frames[0][:2] == ("kernel", at_double)
    assert debugger.locals(frames[0][2])["pid"]["value"] == "int32: 1"
    debugger.send("disconnect", terminateDebuggee=False)
    said, _ = debugger.process.communicate(timeout=120)
    assert "result [ 1.  3.  5.  7.  9. 11.]" in said
    assert "WARNING" not in said, said


def test_a_breakpoint_with_a_condition(debugger):
    """Of one program: the one that writes the wrong element."""
    line = LINES["y += i"]
    debugger.ask("initialize", adapterID="test", pathFormat="path")
    debugger.send("attach", justMyCode=True, rules=RULES)
    debugger.event("initialized")
    debugger.ask(
        "setBreakpoints",
        source={"path": str(debugger.file)},
        breakpoints=[{"line": line, "condition": "tl.program_id(0) == 1 and i == 1"}],
    )
    debugger.ask("configurationDone")
    _, frames = debugger.stopped()
    seen = debugger.locals(frames[0][2])
    assert (seen["pid"]["value"], seen["i"]["value"]) == ("int32: 1", "int32: 1")
