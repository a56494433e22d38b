"""Step mode as a user meets it: pdb on a terminal, prints, tracebacks, programs that wait."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import textwrap
import time

import pytest

PREFIX = """\
import pdb
import numpy as np
import triton
import triton.language as tl
"""

KERNEL = """\
@triton.jit
def scale(x, factor):
    doubled = x * factor
    return doubled


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    {stop}
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(x_ptr + offsets, scale(x, 2.0), mask=mask)


x = np.arange(6, dtype=np.float32)
kernel[(2,)](x, 6, BLOCK=4)
print("result", x.tolist())
"""


class Terminal:
    """A script on a pseudo-terminal, answered line by line."""

    def __init__(self, path, environment, command="run"):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "blockscope", command, str(path)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TRITON_INTERPRET": "1", "TERM": "dumb", **environment},
        )
        os.close(slave)

    def until(self, wanted, seconds=60):
        """Read until ``wanted`` appears; returns what was read."""
        text, end = "", time.monotonic() + seconds
        while wanted not in text:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {wanted!r} in time, got:\n{text}"
            try:
                data = os.read(self.master, 4096)
            except OSError:  # the program ended
                break
            if not data:
                break
            text += data.decode().replace("\r", "")
        return text

    def say(self, line):
        os.write(self.master, (line + "\n").encode())
        return self.until("(Pdb) ")

    def finish(self, line, status=0):
        os.write(self.master, (line + "\n").encode())
        text = self.until("\0", seconds=60)
        assert self.process.wait(30) == status, text
        return text


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "kernel_file.py"
        path.write_text(PREFIX + textwrap.dedent(text))
        return path

    return write


@pytest.mark.parametrize("stop", ["breakpoint()", "pdb.set_trace()"])
def test_pdb_steps_through_a_kernel_and_into_a_nested_function(script, stop):
    terminal = Terminal(script(KERNEL.format(stop=stop)), {})
    assert "offsets = pid * BLOCK" in terminal.until("(Pdb) ")
    terminal.say("n")
    assert "int32[4]: [0 1 2 3]" in terminal.say("p offsets")
    assert "; x.data[0] shows an element" in terminal.say("p offsets[1]")
    assert "int32(1)" in terminal.say("p offsets.data[1]")
    terminal.say("n")
    assert re.search(r"int1\[4\]: \[ *True +True +True +True\]", terminal.say("p mask"))
    terminal.say("n")
    assert "--Call--" in terminal.say("s") and "scale" in terminal.say("n")
    terminal.say("n")
    assert "fp32[4]: [0. 2. 4. 6.]" in terminal.say("p doubled")
    assert "offsets = pid * BLOCK" in terminal.say("c")  # the next program
    assert "int32: 1" in terminal.say("p pid")
    assert "result [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]" in terminal.finish("c")


WHILE = """\
@triton.jit
def kernel(x_ptr, n):
    breakpoint()
    i = 0
    while i < n:
        tl.store(x_ptr + i, 1.0)
        i += 1


x = np.zeros(2, dtype=np.float32)
kernel[(1,)](x, 2)
"""


def test_pdb_goes_through_a_while_loop_from_its_head_on(script):
    terminal = Terminal(script(WHILE), {})
    assert "i = 0" in terminal.until("(Pdb) ")
    said = [terminal.say("n") for _ in range(6)]
    lines = [re.findall(r"kernel_file.py\((\d+)\)", text)[-1] for text in said]
    assert lines == ["9", "10", "11", "9", "10", "11"]
    terminal.finish("c")


def test_where_up_and_down_show_the_users_frames(script):
    text = KERNEL.replace("    doubled =", "    breakpoint()\n    doubled =").format(stop="pass")
    terminal = Terminal(script(text), {})
    assert "doubled = x * factor" in terminal.until("(Pdb) ")
    frames = re.findall(r"^[> ] (\S+)\(\d+\)(\S+)\(\)", terminal.say("where"), re.M)
    assert [name for _, name in frames] == ["<module>", "kernel", "scale"]
    assert all(file.endswith("kernel_file.py") for file, _ in frames)
    assert "scale(x, 2.0)" in terminal.say("up")
    assert "int32[4]: [0 1 2 3]" in terminal.say("p offsets")
    assert "kernel[(2,)](x, 6, BLOCK=4)" in terminal.say("up")
    assert "Oldest frame" in terminal.say("up")
    assert "scale(x, 2.0)" in terminal.say("down")
    assert "doubled" in terminal.say("down") and "Newest frame" in terminal.say("down")
    said = terminal.finish("q", status=1)
    assert "blockscope/" not in said and "BdbQuit" in said


def test_the_step_command_shows_the_users_frames_too(script):
    """Its pdb opens by itself, below frames of the command that it has in the launch."""
    terminal = Terminal(script(KERNEL.format(stop="pass")), {}, command="step")
    assert "pid = tl.program_id(0)" in terminal.until("(Pdb) ")
    frames = re.findall(r"^[> ] (\S+)\(\d+\)(\S+)\(\)", terminal.say("where"), re.M)
    assert [name for _, name in frames] == ["<module>", "kernel"]
    assert all(file.endswith("kernel_file.py") for file, _ in frames)
    assert "kernel[(2,)](x, 6, BLOCK=4)" in terminal.say("up")
    assert "Oldest frame" in terminal.say("up")
    terminal.say("down")
    assert "pass" in terminal.say("s")  # over tl.program_id
    assert "offsets = pid * BLOCK" in terminal.say("n")
    assert "result" in terminal.finish("c")


def test_outside_of_kernels_pdb_is_pythons_own(script):
    """Ours steps over Python's modules."""
    host = "import textwrap\npdb.set_trace()\ntextwrap.dedent('')\n"
    terminal = Terminal(script(WHILE + host), {})
    assert "i = 0" in terminal.until("(Pdb) ")
    terminal.say("c")
    said = "".join(terminal.say("s") for _ in range(3))
    assert "--Call--" in said and "textwrap.py" in said, said
    terminal.finish("c")


def test_breakpoints_stop_only_in_the_chosen_program(script):
    path = script(KERNEL.format(stop="breakpoint()"))
    terminal = Terminal(path, {"BLOCKSCOPE_PROGRAM": "1,0,0"})
    terminal.until("(Pdb) ")
    assert "int32: 1" in terminal.say("p pid")
    assert "result" in terminal.finish("c")


def test_a_program_that_the_grid_lacks_is_a_warning(script):
    path = script(KERNEL.format(stop="breakpoint()"))
    done = run(path, BLOCKSCOPE_PROGRAM="9,0,0")
    assert done.returncode == 0 and "result" in done.stdout
    said = re.findall(r"(.*): RuntimeWarning: (.*)", done.stderr)
    assert len(said) == 1 and said[0][0].startswith(f"{path}:")
    assert "BLOCKSCOPE_PROGRAM is '9,0,0', and the grid is (" in said[0][1]
    assert said[0][1].endswith("no breakpoint stops")


def test_quitting_the_debugger_shows_the_users_lines(script):
    terminal = Terminal(script(KERNEL.format(stop="breakpoint()")), {})
    terminal.until("(Pdb) ")
    text = terminal.finish("q", status=1)
    files = re.findall(r'File "(.*?)", line (\d+)', text)
    assert [os.path.basename(file) for file, _ in files] == ["kernel_file.py"] * 2, text
    assert text.rstrip("\0\n").endswith("bdb.BdbQuit")


def run(path, **environment):
    return subprocess.run(
        [sys.executable, "-m", "blockscope", "run", str(path)],
        env={**os.environ, "TRITON_INTERPRET": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_any_python_works_in_a_stepped_kernel(script):
    path = script("""\
        @triton.jit
        def kernel(x_ptr):
            offsets = tl.arange(0, 4)
            seen = {"first": offsets}
            for name in ["a", "b"]:
                if name == "b":
                    break
            try:
                raise KeyError("x")
            except KeyError as error:
                print("caught", error, name, (lambda v: v + 1)(seen["first"]).numpy().tolist())
            tl.store(x_ptr + offsets, offsets)

        x = np.zeros(4, np.int32)
        kernel[(1,)](x)
        print(x.tolist())
        """)
    result = run(path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["caught 'x' b [1, 2, 3, 4]", "[0, 1, 2, 3]"]


def test_an_exception_shows_the_users_lines(script):
    path = script("""\
        @triton.jit
        def inner(x):
            return x.no_such_thing

        @triton.jit
        def kernel(x_ptr):
            x = tl.load(x_ptr)
            inner(x)

        kernel[(1,)](np.zeros(4, np.float32))
        """)
    result = run(path)
    assert result.returncode == 1
    lines = [line for line in result.stderr.splitlines() if line.strip().startswith("File")]
    assert all("kernel_file.py" in line for line in lines), result.stderr
    assert "x.no_such_thing" in result.stderr and "inner(x)" in result.stderr


def test_programs_that_wait_for_one_another_end(script):
    path = script("""\
        @triton.jit
        def kernel(flag_ptr, order_ptr):
            pid = tl.program_id(0)
            # A ring: every program waits for the next one, which waits for a second word of it.
            tl.atomic_xchg(flag_ptr + pid, 1)
            while tl.atomic_add(flag_ptr + (pid + 1) % 3, 0) == 0:
                pass
            tl.atomic_add(order_ptr, 1)

        flags, count = np.zeros(3, np.int32), np.zeros(1, np.int32)
        kernel[(3,)](flags, count)
        print(count.item())
        """)
    result = run(path)
    assert (result.returncode, result.stdout.strip()) == (0, "3"), result.stderr


def test_many_programs_that_wait_have_their_turn(script):
    path = script("""\
        @triton.jit
        def kernel(flag_ptr, LAST: tl.constexpr):
            # The flag of the last one is for the one before it, whose flag is for the one before
            # that, whose flag is for all others: a thousand look in vain in between.
            step = tl.minimum(LAST - tl.program_id(0), 3)
            if step > 0:
                while tl.atomic_add(flag_ptr + step - 1, 0) == 0:
                    pass
            tl.atomic_xchg(flag_ptr + step, 1)

        flags = np.zeros(4, np.int32)
        kernel[(1152,)](flags, LAST=1151)
        print(flags.tolist())
        """)
    result = run(path)
    assert (result.returncode, result.stdout.strip()) == (0, "[1, 1, 1, 1]"), result.stderr


def test_a_wait_for_nobody_is_named(script):
    path = script("""\
        @triton.jit
        def kernel(flag_ptr):
            while tl.atomic_add(flag_ptr, 0) == 0:
                pass

        kernel[(2,)](np.zeros(1, np.int32))
        """)
    result = run(path)
    assert result.returncode == 1
    assert "error[deadlock]" in result.stderr and "kernel_file.py:7" in result.stderr


def test_programs_that_wait_end_with_their_launch(script):
    """Whichever program fails, on whatever thread the launch is, its error is the launch's."""
    path = script("""\
        import threading

        @triton.jit
        def kernel(x_ptr, FAILS: tl.constexpr):
            if tl.program_id(0) == FAILS:
                tl.store(x_ptr, 1)
                while tl.load(x_ptr, volatile=True) != 5:
                    tl.atomic_add(x_ptr, 1)
                raise ValueError(f"in {FAILS}")
            while tl.atomic_add(x_ptr, 0) >= 0:
                pass

        def launch(fails):
            try:
                kernel[(4,)](np.zeros(1, np.int32), FAILS=fails)
            except Exception as error:
                told.append(str(error))

        told = []
        for fails in range(5):  # the last one is none of them: a deadlock
            launch(fails)
            thread = threading.Thread(target=launch, args=(fails,))
            thread.start()
            thread.join()
        for fails in range(4):
            assert f"in {fails}" in told[2 * fails] and f"in {fails}" in told[2 * fails + 1], told
        assert len(told) == 10 and "deadlock" in told[8] and "deadlock" in told[9], told
        assert threading.active_count() == 1, threading.enumerate()
        """)
    result = run(path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("mode", ["0", "1"])
def test_findings_tell_the_turns_of_the_loops(script, mode, tmp_path):
    path = script("""\
        @triton.jit
        def kernel(x_ptr, n):
            for i in range(2, 8, 2):
                j = 0
                while j < n:
                    tl.store(x_ptr + i * 10 + j, 1.0)
                    j += 1
            for k in range(3):
                tl.store(x_ptr + 100 * k, 1.0)

        kernel[(1,)](np.zeros(62, np.float32), 3)
        """)
    out = tmp_path / "findings.json"
    command = [sys.executable, "-m", "blockscope", "check", "--format", "json"]
    environment = {**os.environ, "TRITON_INTERPRET": mode}
    subprocess.run([*command, "--output", str(out), str(path)], env=environment, timeout=120)
    first, second = json.loads(out.read_text())
    assert (first["loop_iterations"], first["count"]) == ([2, 2], 1)
    assert (second["loop_iterations"], second["count"]) == ([1], 2)


FAILURES = {
    "TypeError": "tl.load(x_ptr) & 1",
    "ValueError": "tl.arange(0, 3)",
    "AttributeError": "x_ptr.no_such_thing",
    "KeyError": "{}['missing']",
    "ZeroDivisionError": "1 // 0",
    "BlockValueError": "if tl.arange(0, 4) > 1: pass",
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_a_stepped_kernel_raises_is_also_an_error_of_triton(name, script):
    path = script(f"""\
        import pickle
        import traceback

        @triton.jit
        def kernel(x_ptr):
            {FAILURES[name]}

        kind = getattr(__import__("builtins"), "{name}", ValueError)
        try:
            kernel[(1,)](np.zeros(4, np.float32))
        except kind as error:
            again = pickle.loads(pickle.dumps(error))
            assert isinstance(error, triton.TritonError) and type(again) is type(error)
            assert str(again) == str(error) and again.args == error.args
            assert isinstance(error, triton.runtime.errors.InterpreterError)
            print(type(error).__name__, error.error_message == str(error))
            raise
        """)
    result = run(path)
    assert result.stdout.split() == [name, "True"], result.stderr
    last = result.stderr.rstrip().splitlines()[-1]
    assert last.startswith((f"{name}: ", f"blockscope.errors.{name}: ")), result.stderr
    assert "blockscope/" not in result.stderr and "During" not in result.stderr, result.stderr
