"""blockscope check --watch, through a terminal and through a pipe."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from blockscope.cli.watch import _fitted

BIN = Path(sys.executable).parent

SCRIPT = """
import numpy as np, triton, triton.language as tl
import part

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + 8, 1.0)
    tl.store(x_ptr + 9, 2.0)

for i in range(40):
    print("line", i)
kernel[(1,)](np.zeros(part.SIZE, np.float32))
"""
GOOD = "SIZE = 16\n"
BAD = "SIZE = 8  # too few\n"


class Watched:
    """A command that watches, and what it has written so far; ``lines``: of a terminal."""

    def __init__(self, folder, *words, lines=None):
        if lines is None:
            self.stream, end = os.pipe()
        else:
            self.stream, end = pty.openpty()
            fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 90, 0, 0))
        variables = {k: v for k, v in os.environ.items() if k not in ("LINES", "COLUMNS")}
        self.process = subprocess.Popen(
            [BIN / "blockscope", "check", "--watch", *words], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=end, stderr=end, start_new_session=True, env=variables | {"TERM": "xterm"},
        )  # fmt: skip
        os.close(end)
        self.text = ""

    def until(self, pattern):
        """What is written next, to the end of the first match."""
        end = time.monotonic() + 120
        while (found := re.search(pattern, self.text)) is None:
            ready, _, _ = select.select([self.stream], [], [], end - time.monotonic())
            assert ready, f"'{pattern}' did not come: {self.text}"
            try:
                self.text += os.read(self.stream, 1 << 16).decode().replace("\r\n", "\n")
            except OSError:
                raise AssertionError(f"'{pattern}' did not come: {self.text}") from None
        said, self.text = self.text[: found.end()], self.text[found.end() :]
        return said

    def end(self, kind=signal.SIGINT):
        self.process.send_signal(kind)
        return self.process.wait(60)


@pytest.fixture
def watched(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "part.py").write_text(BAD)
    made = []

    def start(*words, **options):
        made.append(Watched(tmp_path, *words, **options))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.process.wait()
        os.close(each.stream)


LAST = r"script.py: (.*) at \d\d:\d\d:\d\d, after \d+\.\d s; (\d) files watched, Ctrl-C ends"


def test_it_runs_again_when_a_file_or_its_module_is_saved(watched, tmp_path):
    run = watched("script.py")
    said = run.until(LAST)
    assert "line 0\n" in said and "line 39\n" in said  # a pipe has all
    assert said.count("error[oob-store]") == 2 and "hint: is a mask missing?" in said
    assert re.search(LAST, said).groups() == ("2 errors", "2")
    (tmp_path / "part.py").write_text(GOOD)
    said = run.until(LAST)
    assert re.search(LAST, said).groups() == ("no findings", "2") and "error[" not in said
    (tmp_path / "script.py").write_text(SCRIPT + "raise ValueError('no')\n")
    said = run.until(LAST)
    assert "ValueError: no" in said and re.search(LAST, said)[1] == "no findings, status 1"
    (tmp_path / "part.py").write_text("SIZE = (\n")
    said = run.until(LAST)
    assert "SyntaxError" in said and "no kernel was launched, status 1" in said
    (tmp_path / "part.py").write_text(BAD)
    assert "2 errors" in run.until(LAST)
    assert run.end() == 0


def test_the_screen_is_short_and_cleared(watched, tmp_path):
    run = watched("script.py", lines=20)
    said = run.until(LAST)
    assert said.count("\033[H\033[2J") == 1
    screen = said.rpartition("\033[3J")[2].split("\n")
    assert len(screen) <= 20 and all(len(line) <= 90 + 20 for line in screen)  # 20 of colours
    text = re.sub(r"\033\[[\d;]*m", "", "\n".join(screen))
    assert text.startswith("... ") and "line 39\n" in text and "line 20\n" not in text
    assert "error[oob-store]: store of 4 bytes at byte 32" in text and "hint: is a mask" in text
    assert "\nscript.py:8:5: error[oob-store]: store of 4 bytes at byte 36" in text
    (tmp_path / "part.py").write_text(GOOD)
    assert "no findings" in run.until(LAST)
    assert run.end() == 0


def test_a_save_ends_the_run_that_goes_on(watched, tmp_path):
    endless = "import subprocess, sys\nprint('begun', flush=True)\nopen('begun', 'w')\n"
    endless += "subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    (tmp_path / "script.py").write_text(endless)
    run = watched("script.py")
    end = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    (tmp_path / "script.py").write_text(SCRIPT)
    assert "2 errors" in run.until(LAST)
    assert run.end() == 0


def test_what_a_script_writes_itself_is_not_watched(watched, tmp_path):
    text = "open('part.py', 'w').write('SIZE = 16\\n')\n" + SCRIPT
    (tmp_path / "script.py").write_text(text)
    run = watched("script.py")
    one = LAST.replace("files", "file")
    assert re.search(one, run.until(one)).groups() == ("no findings", "1")
    (tmp_path / "script.py").write_text(text.replace("16", "8"))
    assert "2 errors" in run.until(one)
    assert run.end() == 0 and run.text.strip() == ""


def test_ctrl_c_amid_a_run(watched, tmp_path):
    (tmp_path / "script.py").write_text("open('begun', 'w')\nimport time\ntime.sleep(600)\n")
    run = watched("script.py", lines=20)
    run.until("running")
    assert run.end() == 0
    assert "Traceback" not in run.text


@pytest.mark.parametrize(
    "words, said",
    [
        (("--output", "x", "script.py"), "--watch shows its reports, and takes no --output"),
        (("--format", "json", "script.py"), "--watch shows text, found --format json"),
        (("-c", "pass"), "--watch needs a file, or '-m MODULE'"),
        (("none.py",), "there is no file 'none.py'"),
        (("--checks", "x", "script.py"), "unknown check 'x'"),
        (("--baseline", "x", "script.py"), "there is no baseline 'x'"),
    ],
)
def test_wrong_use(watched, words, said):
    run = watched(*words)
    run.until(re.escape(said))
    assert run.process.wait(60) == 2


def test_what_fits():
    first = ["a", "b", "c"]
    heads = ["a", "x", "y", "z"]
    report = [*first, "", "x", "1", "", "y", "1", "", "z", "1", "", "4 errors"]
    assert _fitted(report, heads, 20, 80) == report
    assert _fitted(report, heads, 8, 80) == [*first, "", "x", "y", "z"]
    assert _fitted(report, heads, 6, 80) == [*first, "", "x", "... and 2 more"]
    assert _fitted(report, heads, 3, 80) == ["a", "", "... and 3 more"]
    assert _fitted([*first, "", "1 error"], ["a"], 2, 80) == ["a", "b"]
