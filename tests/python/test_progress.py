"""Long work says on a terminal how far it is, and nothing on a pipe."""

import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from blockscope.cli.progress import ProgressLine, duration

pytest.importorskip("torch")

SCRIPT = """
import torch, triton, triton.language as tl

@triton.jit
def slow(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for k in range(n):
        v = tl.sin(v) + k
    tl.store(x + i, v)

x = torch.zeros(3000 * 256)
slow[(3000,)](x, 4000, BLOCK=256)
print("first line of the script")
slow[(3000,)](x, 1, BLOCK=256)
print("second line of the script")
"""


def on_terminal(folder, *words):
    """What a command writes to a terminal of 100 columns, and its status."""
    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-m", "blockscope", *words], stdin=other, stdout=other, stderr=other,
        cwd=folder, env=environment, close_fds=True,
    )  # fmt: skip
    os.close(other)
    text, end = b"", time.monotonic() + 200
    while time.monotonic() < end:
        ready, _, _ = select.select([main], [], [], 1.0)
        try:
            read = os.read(main, 65536) if ready else b""
        except OSError:
            break  # it has ended
        text += read
        if ready and not read:
            break
    os.close(main)
    return text.decode(), process.wait(10)


def on_screen(text):
    """The lines as they stand there in the end."""
    lines = [""]
    column = 0
    for part in re.findall(r"\x1b\[K|\x1b\[[0-9;]*m|\r|\n|[^\x1b\r\n]+", text):
        if part == "\r":
            column = 0
        elif part == "\n":
            lines.append("")
            column = 0
        elif part == "\x1b[K":
            lines[-1] = lines[-1][:column]
        elif not part.startswith("\x1b"):
            lines[-1] = lines[-1][:column].ljust(column) + part + lines[-1][column + len(part) :]
            column += len(part)
    return [line for line in lines if line.strip()]


def test_a_long_launch_shows_how_far_it_is(tmp_path):
    (tmp_path / "slow.py").write_text(SCRIPT)
    text, status = on_terminal(tmp_path, "check", "slow.py")
    assert status == 0, text
    shown = re.findall(r"launch (\d+): (\d+) of 3000 programs", text)
    assert shown and {launch for launch, _ in shown} == {"0"}  # the second launch is short
    begun = [int(number) for _, number in shown]
    assert begun == sorted(begun) and 0 <= begun[0] < 3000
    assert "0 errors so far" in text
    screen = on_screen(text)
    assert screen[:2] == ["first line of the script", "second line of the script"]
    assert not any("programs" in line for line in screen)


def test_a_pipe_gets_nothing(tmp_path):
    (tmp_path / "slow.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "blockscope", "check", "slow.py"],
        capture_output=True, text=True, cwd=tmp_path, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0 and "\r" not in done.stderr and "programs" not in done.stderr


def test_a_sweep_shows_how_far_it_is(tmp_path):
    (tmp_path / "cases.py").write_text("import time\n\ndef run(n):\n    time.sleep(0.05)\n")
    text, status = on_terminal(tmp_path, "sweep", "cases.py:run", "--vary", "n=1..60")
    assert status == 0, text
    assert re.search(r"\d+ of 60 points, \d+/s, 0 did not pass, \d+ s left", text)
    screen = on_screen(text)
    assert not any("left" in line for line in screen) and screen[0].startswith("60 points (n)")


def test_a_line_is_no_wider_than_the_terminal(monkeypatch):
    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    line = ProgressLine(stream, begin=0)
    line.show("x" * 50)
    assert stream.text == "\r\x1b[K" + "x" * 19
    line.show("y")  # a moment later
    assert "y" not in stream.text
    line.clear()
    assert on_screen(stream.text) == []


@pytest.mark.parametrize(
    "seconds, text", [(0.4, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text
