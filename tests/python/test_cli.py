"""The commands blockscope and triton-san: running scripts, exit status, reports, wrong use."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from blockscope import checks
from blockscope.cli.commands import COMMANDS
from blockscope.cli.explain import text_of

KERNEL = """
import numpy, triton, triton.language as tl

@triton.jit
def add(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets{mask})
    tl.store(out_ptr + offsets, x + 1, mask=offsets < n)

x = numpy.zeros(1000, numpy.float32)
out = numpy.empty_like(x)
add[(4,)](x, out, 1000, BLOCK=256)
print(float(out.sum()))
"""
NOTHING = "no findings (asan, tsan)"  # by the checks that are run unasked
BAD = KERNEL.format(mask="")
GOOD = KERNEL.format(mask=", mask=offsets < n, other=0.0")


def command(*words, program="main", env=None, cwd=None):
    variables = {k: v for k, v in os.environ.items() if k != "BLOCKSCOPE_AS_TRITON"}
    variables.update(env or {})
    code = f"import sys; from blockscope.cli import {program}; sys.exit({program}())"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True, text=True, env=variables, cwd=cwd, timeout=240,
    )  # fmt: skip


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


# --- running ------------------------------------------------------------------------------------


def test_script_sees_itself_as_python_would_show_it(script):
    script("value = 42\n", "sub/neighbour.py")
    path = script(
        """
        import sys, os
        import neighbour
        assert __name__ == "__main__" and sys.modules["__main__"].neighbour is neighbour
        assert __file__ == sys.argv[0] and __spec__ is None
        print(sys.argv[1:], os.path.basename(sys.path[0]))
        """,
        "sub/main.py",
    )
    done = command("run", path, "--flag", "-o", "x")
    assert (done.returncode, done.stdout) == (0, "['--flag', '-o', 'x'] sub\n"), done.stderr


def test_triton_means_blockscope(script):
    path = script("import triton; print(type(triton).__name__)")
    assert command("run", path).stdout == "TritonModule\n"


def test_child_processes_see_the_alias_too(script):
    path = script("import os; print(os.environ['BLOCKSCOPE_AS_TRITON'])")
    assert command("run", path).stdout == "1\n"


@pytest.mark.parametrize(
    "text, status, error",
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit('went wrong')", 1, "went wrong\n"),
        ("raise KeyboardInterrupt", 130, None),
    ],
)
def test_exit_status_is_the_scripts(script, text, status, error):
    done = command("run", script(text))
    assert done.returncode == status
    assert error is None or done.stderr == error


def test_traceback_shows_only_the_script(script):
    path = script("def f():\n    return 1 / 0\nf()\n")
    done = command("run", path)
    assert done.returncode == 1
    plain = subprocess.run([sys.executable, path], stderr=subprocess.PIPE, text=True)
    assert done.stderr == plain.stderr and plain.stderr.count('  File "') == 2


def test_syntax_error_is_the_scripts(script):
    path = script("def f(:\n")
    done = command("run", path)
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr and "blockscope" not in done.stderr.replace(str(path), "")


def test_missing_import_is_the_scripts(script):
    done = command("run", script("import no_such_module_here\n"))
    assert done.returncode == 1
    assert "No module named 'no_such_module_here'" in done.stderr
    assert "cli" not in done.stderr


def test_module_and_code(script, tmp_path):
    script("import sys; print(__name__, sys.argv[1:])", "mod.py")
    assert command("run", "-m", "mod", "a", cwd=tmp_path).stdout == "__main__ ['a']\n"
    assert command("run", "-c", "import sys; print(sys.argv)", "a").stdout == "['-c', 'a']\n"


def test_folder_with_main(script, tmp_path):
    script("print('folder')", "app/__main__.py")
    assert command("run", tmp_path / "app").stdout == "folder\n"


def test_step_flag(script):
    path = script("import os; print(os.environ.get('TRITON_INTERPRET'))")
    assert command("run", "--step", path).stdout == "1\n"


def test_python_m_blockscope(script):
    path = script("print('hello')")
    done = subprocess.run(
        [sys.executable, "-m", "blockscope", "run", str(path)], capture_output=True, text=True
    )
    assert done.stdout == "hello\n"


# --- wrong use ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, text",
    [
        ([], "usage: blockscope"),
        (["fly"], "unknown command 'fly'; 'blockscope --help' lists them"),
        (["chek", "--checks", "asan", "x.py"], "unknown command 'chek'; did you mean 'check'?"),
        (["version"], "did you mean '--version'?"),
        ([__file__], f"it is a file, as in 'blockscope check {__file__}'"),
        (["run"], "no file was named"),
        (["run", "missing.py"], "there is no file 'missing.py'"),
        (["run", "--fast", "x.py"], "--fast"),
        (["run", "-m"], "-m needs an argument"),
        (["check", "--checks", "nosan", "x.py"], "unknown check 'nosan', expected arith"),
        (["check", "--max-findings", "0", "x.py"], "'0' is no whole number"),
        (["check", "--exit-code", "300", "x.py"], "'300' is no exit status"),
        (["check", "--output", "/no/such/folder/r.txt", "x.py"], "there is no folder"),
        (["trace", "-o", "/no/such/folder/t.h5", "x.py"], "there is no folder"),
        (["view", "missing.h5"], "there is no file 'missing.h5'"),
        (["view", "--compare", "/tmp", "/tmp"], "'/tmp' is a folder, expected a trace or"),
        (["view", __file__, "--csv", "heat", "--png", "a.png"], "--csv and --png are two outputs"),
        (["view", "t.h5", "--size", "big"], "'big' is no size such as 1600x1000"),
        (["view", "t.h5", "--launch", "-1"], "--launch"),
        (["view", "t.h5", "--png", "heat.jpg"], "'heat.jpg' does not end in .png"),
        (["view", "t.h5", "--mode", "writing"], "invalid choice: 'writing'; did you mean 'writes'"),
        (["check", "--format", "xml"], "'xml', expected text, json, sarif, github or html\n"),
        (["view", __file__], "is a script; record it first: blockscope trace"),
        (["doctor", "--json"], "unknown option '--json'"),
        (["explain", "oob"], "did you mean oob-atomic, oob-load or oob-store?"),
        (["explain", "xyzzy"], "'blockscope explain' lists them"),
        (["compile", "--arch", "sm_80", "x.py"], "did you mean '--target'?"),
        (["view", "t.h5", "--program", "a,b"], "'a,b' is no program such as 3,0,0"),
    ],
)
def test_wrong_use_ends_with_2(words, text):
    done = command(*words)
    assert done.returncode == 2 and text in done.stderr
    assert "Traceback" not in done.stderr


def test_triton_san_wrong_use():
    done = command("asan", program="triton_san_main")
    assert done.returncode == 2 and "no file was named" in done.stderr
    for words in (["msan", "x.py"], ["x.py"]):
        done = command(*words, program="triton_san_main")
        assert done.returncode == 2 and f"unknown check '{words[0]}'" in done.stderr
        assert "undefined or all; expected triton-san [options] CHECK" in done.stderr
    done = command("--help", program="triton_san_main")
    assert done.stdout.endswith("  all        all of them but precision\n")


def test_a_long_usage_does_not_hide_the_error():
    done = command("check", "--max-findings", "0", "x.py")
    assert len(done.stderr.splitlines()) == 2
    assert done.stderr.startswith("usage: see 'blockscope check --help'\n")


def test_each_command_says_what_it_does():
    listed = command("--help").stdout
    for name in COMMANDS.keys() - {"triton-san"}:
        assert f"\n    {name} " in listed
        about = command(name, "--help").stdout.partition("\n\n")[2]
        assert about[0].isupper(), name


def test_checks_are_a_table_below_the_options():
    done = command("trace", "--help").stdout
    table = done.partition("\nchecks:\n")[2].splitlines()
    names = [line.split()[0] for line in table if line[2] != " "]
    assert names == [*(r["name"] for r in checks.table() if r["name"]), "all", "none"]


def test_a_file_of_nearly_this_name_is_proposed(script):
    path = script("print(1)", "softmax.py")
    done = command("check", "sofmax.py", cwd=path.parent)
    assert done.stderr == "blockscope: there is no file 'sofmax.py'; did you mean 'softmax.py'?\n"
    done = command("check", path.parent / "softmax")
    assert done.stderr.endswith("did you mean 'softmax.py'?\n")


def test_a_trace_is_no_script(tmp_path):
    (tmp_path / "t.h5").write_bytes(b"BLOCKSCOPE TRACE 1\n")
    done = command("check", tmp_path / "t.h5")
    assert done.returncode == 2 and "blockscope view" in done.stderr


def test_an_option_may_be_cut_short(script):
    path = script("print('ran')", "f.py")
    done = command("check", "--check", "asan", "f.py", cwd=path.parent)
    assert (done.returncode, done.stdout) == (0, "ran\n")


def test_options_of_triton_san_on_both_sides_of_the_checks(script):
    path = script("import sys; print(sys.argv[1:], file=sys.stderr)", "f.py")
    for words in (["--format", "json", "asan"], ["asan", "--format", "json"]):
        done = command(*words, "python", "f.py", "-x", program="triton_san_main", cwd=path.parent)
        assert done.returncode == 0 and done.stdout == "[]\n", done.stderr
        assert "['-x']" in done.stderr


# --- what needs no script -----------------------------------------------------------------------


def test_version():
    import blockscope

    assert command("--version").stdout == f"blockscope {blockscope.__version__}\n"
    done = command("--version", program="triton_san_main")
    assert done.stdout == f"blockscope {blockscope.__version__}\n"


def test_doctor_names_what_it_found():
    done = command("doctor")
    assert done.returncode == 0, done.stderr
    for word in (
        "blockscope",
        "compiled part",
        "viewer",
        "python",
        "processor",
        "gpu targets",
        "torch",
    ):
        assert any(line.startswith(word) for line in done.stdout.splitlines()), word


def test_explain():
    done = command("explain")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "oob-load           a load reads outside its tensor" in lines
    assert all(len(line.split()) > 3 for line in lines)
    first = done.stdout.split()[0]
    page = command("explain", first)
    assert page.returncode == 0 and first in page.stdout
    assert command("explain", f"error[{first}]").stdout == page.stdout
    for name in ("undefined", "init"):
        said = command("explain", name).stdout
        assert said.startswith("check undefined: ") and "  undefined-value  " in said
    several = command("explain", "tsan,nan").stdout
    assert "check tsan: " in several and "check nan: " in several and "check asan" not in several
    every = command("explain", "all").stdout
    assert "check undefined: " in every and "check precision" not in every
    wrong = command("explain", first + "x")
    assert wrong.returncode == 2 and f"did you mean '{first}'?" in wrong.stderr


def test_every_note_of_the_compiler_is_explained():
    root = Path(__file__).parents[2]
    table = (root / "docs" / "gpu.md").read_text()
    from blockscope import _core

    codes = {code for code, _, _ in _core.note_codes()}
    assert len(codes) >= 9
    assert codes == {page.stem for page in (root / "docs" / "notes").glob("*.md")}
    assert codes <= set(re.findall(r"^\| `([a-z0-9-]+)`(?: \(note\))? \| ", table, re.M))
    for code in sorted(codes):
        page = text_of(f"warning[{code}]")
        assert page.startswith(f"# {code}: ")
        assert page.count("```python") == 2 and "\n## What to do\n" in page
    assert "spills             values that do not fit" in command("explain").stdout


# --- checks, traces, IR -------------------------------------------------------------------------


def test_check_of_a_bad_kernel(script):
    done = command("check", script(BAD))
    assert done.returncode == 66
    assert "24.0" not in done.stderr and done.stdout == "1000.0\n"
    assert "script.py:7:" in done.stderr and "error[oob-load]" in done.stderr
    assert "\x1b" not in done.stderr


def test_check_of_a_good_kernel(script):
    done = command("check", script(GOOD))
    assert (done.returncode, done.stdout) == (0, "1000.0\n"), done.stderr
    assert "error[" not in done.stderr


def test_check_exit_code(script):
    assert command("check", "--exit-code", "0", script(BAD)).returncode == 0
    assert command("check", "--exit-code", "7", script(BAD)).returncode == 7


def test_status_of_a_clean_script_is_its_own(script):
    done = command("check", script(GOOD + "\nimport sys; sys.exit(5)\n"))
    assert done.returncode == 5
    assert done.stderr == f"{NOTHING} up to where the script ended, with status 5\n"


def test_findings_count_also_when_the_script_fails(script):
    assert command("check", script(BAD + "\nassert False\n")).returncode == 66


def test_stop_at_first(script):
    done = command("check", "--stop-at-first", script(BAD))
    assert done.returncode == 66 and done.stdout == "", done.stderr
    assert done.stderr.count("error[oob-load]") == 1 and "Traceback" not in done.stderr


def test_a_report_of_a_script_that_was_cut_says_so(script):
    done = command("check", script(f"{BAD}\nraise KeyboardInterrupt\n"))
    assert done.returncode == 130
    assert "error[oob-load]" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("the script ended with status 130: ")


ECHO = "import sys; print(sys.argv[1:])"


@pytest.mark.parametrize(
    "words, warned",
    [
        (["check", "{}", "--max-findings", "3"], ["--max-findings"]),
        (["check", "{}", "--max-findings=3", "--bounds", "view"], ["--max-findings=3", "--bounds"]),
        (["run", "{}", "--step"], ["--step"]),
        (["trace", "-o", "t.h5", "{}", "--checks", "asan"], ["--checks"]),
        (["check", "-c", ECHO, "--exit-code", "3"], ["--exit-code"]),
        (["check", "{}", "--epochs", "3", "-h"], []),
        (["check", "--", "{}", "--max-findings", "3"], []),
    ],
)
def test_an_option_behind_the_script_goes_to_it_with_a_warning(script, tmp_path, words, warned):
    path = script(ECHO)
    done = command(*(word.format(path) for word in words), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    place = words.index("{}") + 1 if "{}" in words else words.index(ECHO) + 1
    assert done.stdout == f"{words[place:]}\n"
    lines = [line for line in done.stderr.splitlines() if "warning" in line]
    assert [line.split("'")[1] for line in lines] == warned
    assert all(f"blockscope {words[0]}: warning" in line for line in lines)


def test_the_output_of_a_trace_behind_its_script_is_no_cause_of_a_warning(script, tmp_path):
    done = command("trace", script(ECHO), "-o", "t.h5", "a", cwd=tmp_path)
    assert done.stdout == "['a']\n" and "warning" not in done.stderr
    assert done.stderr == "no kernel was launched: t.h5 was not written\n"
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


@pytest.mark.parametrize("code", ["print(2)", "1 / 0", "print(", "raise KeyboardInterrupt"])
def test_a_trace_without_launches_leaves_the_file_before_it(code, tmp_path):
    (tmp_path / "keep.h5").write_bytes(b"an earlier trace")
    done = command("trace", "-o", "keep.h5", "-c", code, cwd=tmp_path)
    assert "no kernel was launched: keep.h5 stays as it was\n" in done.stderr
    assert (tmp_path / "keep.h5").read_bytes() == b"an earlier trace"
    assert [path.name for path in tmp_path.iterdir()] == ["keep.h5"]


SAME_VALUE = """
import torch, triton, triton.language as tl

@triton.jit
def same_value(out_ptr):
    tl.store(out_ptr, 1.0)

same_value[(2,)](torch.zeros(1))
"""


@pytest.mark.parametrize(
    "text, found",
    [
        (BAD, " with 1 error"),
        (GOOD, ""),
        (SAME_VALUE, " with 1 warning"),
        (SAME_VALUE + BAD, " with 1 error and 1 warning"),
    ],
)
def test_a_trace_says_how_many_findings_it_holds(script, tmp_path, text, found):
    done = command("trace", "--checks", "asan,tsan", "-o", "t.h5", script(text), cwd=tmp_path)
    look = "look at it with: blockscope view t.h5"
    launches = "2 launches" if text == SAME_VALUE + BAD else "1 launch"
    assert done.stderr == f"wrote {launches}{found} to t.h5; {look}\n"


def test_nothing_launched_is_not_called_clean(script, tmp_path):
    empty = script("print(1)")
    done = command("check", empty)
    assert done.returncode == 0 and "no kernel was launched: nothing was checked" in done.stderr
    done = command("trace", "-o", tmp_path / "victim.py", empty)
    assert done.returncode == 2 and "named like a Python file" in done.stderr


def test_an_error_of_a_kernel_shows_the_users_frames_alone(script):
    path = script("""
        import torch
        import blockscope as triton
        import blockscope.language as tl

        @triton.jit
        def k(x_ptr, B: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, B), yy)

        k[(1,)](torch.zeros(8), B=8)
    """)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert len(frames) == 1 and str(path) in frames[0], done.stderr
    assert done.stderr.count("Traceback") == 1 and "'yy' is not defined" in done.stderr


def test_triton_san_warns_of_options_behind_the_script(script):
    done = command("asan", script(ECHO), "--max-findings", "3", program="triton_san_main")
    assert done.stdout == "['--max-findings', '3']\n"
    assert "triton-san: warning: '--max-findings' stands behind the script" in done.stderr


def test_json_report(script, tmp_path):
    report = tmp_path / "report.json"
    done = command("check", "--format", "json", "--output", report, script(BAD))
    assert done.returncode == 66 and done.stdout == "1000.0\n"
    assert "oob-load" in json.dumps(json.loads(report.read_text()))


@pytest.mark.parametrize("word", [["python"], ["python3"], [sys.executable], []])
def test_triton_san(script, word):
    done = command("asan", *word, script(BAD), program="triton_san_main")
    assert done.returncode == 66 and "error[oob-load]" in done.stderr
    done = command("tsan", *word, script(GOOD), program="triton_san_main")
    assert done.returncode == 0, done.stderr


def test_trace(script, tmp_path):
    h5py = pytest.importorskip("h5py")
    done = command("trace", "-o", tmp_path / "t.h5", script(GOOD))
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "t.h5") as file:
        assert len(file)


def test_ir(script):
    done = command("ir", script(GOOD))
    assert done.returncode == 0, done.stderr
    assert "// add at " in done.stdout and "tl.load" in done.stdout and "1000.0" in done.stdout
    assert done.stdout.count("// add at ") == 1


@pytest.mark.parametrize(
    "words, expected",
    [
        (["f.py", "-o", "t.h5", "a"], (["f.py", "a"], "t.h5")),
        (["--", "-m", "mod", "--output", "t.h5"], (["--", "-m", "mod"], "t.h5")),
        (["f.py", "a", "-o", "mine"], (["f.py", "a", "-o", "mine"], None)),
    ],
)
def test_output_may_follow_the_traced_file(words, expected):
    from blockscope.cli.commands import output_after_script

    assert output_after_script(words, None) == expected


def test_kernel_error_shows_only_the_scripts_lines(script):
    done = command("run", script(BAD.replace("x + 1", "x[3]")))
    assert done.returncode == 1
    assert done.stderr.splitlines()[:3] == [
        "Traceback (most recent call last):",
        f'  File "{done.args[-1]}", line 12, in <module>',
        "    add[(4,)](x, out, 1000, BLOCK=256)",
    ]
    assert "script.py:8:" in done.stderr and "python/blockscope" not in done.stderr


def test_view_gets_its_options(tmp_path, monkeypatch):
    viewer = tmp_path / "blk-view"
    viewer.write_text('#!/bin/sh\necho "$@"\n')
    viewer.chmod(0o755)
    trace = tmp_path / "t.h5"
    trace.write_text("")
    options = ["--png", tmp_path / "o.png", "--tensor", "x_ptr", "--program", "3,0,0", "--size",
               "1600x1000", "--launch", "1", "--finding", "0", "--cell", "3,17", "--mode", "reads",
               "--log"]  # fmt: skip
    done = command("view", trace, *options, env={"BLOCKSCOPE_VIEWER": str(viewer)})
    words = done.stdout.split()
    assert done.returncode == 0 and words[0] == str(trace) and words[-1] == "--log"
    assert sorted(words[1:]) == sorted(map(str, options))


PRINTS = """
    import atexit, torch, triton, triton.language as tl

    @triton.jit
    def k(x_ptr, BLOCK: tl.constexpr):
        tl.device_print("x", tl.load(x_ptr + tl.arange(0, BLOCK)))

    atexit.register(print, "at the end")
    print("before", flush=True)
    k[(1,)](torch.zeros(3), BLOCK=4)
"""


@pytest.mark.parametrize(
    "words", [("check", "--format", "json"), ("--format", "json", "asan"), ("compile", "--json")]
)
def test_json_has_standard_output_for_itself(script, words):
    program = "triton_san_main" if words[0].startswith("-") else "main"
    done = command(*words, script(PRINTS), program=program)
    assert json.loads(done.stdout)
    assert done.stderr.startswith("before\n") and "at the end" in done.stderr


def test_ir_prints_what_was_compiled_also_when_the_launch_fails(script):
    done = command("ir", script(BAD))
    assert done.returncode == 1 and "oob-load" in done.stderr
    assert done.stdout.count("// add at ") == 1 and "tl.load" in done.stdout


@pytest.mark.parametrize("command_", ["run", "check"])
def test_a_gpu_that_is_not_there_has_a_hint(script, command_):
    done = command(command_, script("import torch; torch.empty(4, device='cuda')"))
    if done.returncode == 0:
        pytest.skip("there is a GPU")
    hints = [line for line in done.stderr.splitlines() if line.startswith("blockscope: there is")]
    assert len(hints) == 1 and "device='cpu'" in hints[0] and "active_torch_device" in hints[0]
    assert "TRITON_INTERPRET" not in hints[0]  # says what to do once, and of tensors


CHECK_NAMES = f"{', '.join(checks.CHECKS)} or all"
EXPECTED = "expected triton-san [options] CHECKS [python] FILE [args]"


@pytest.mark.parametrize(
    "words, said",
    [
        (
            ["f.py"],
            f"'f.py' stands where checks are named; try triton-san all f.py; {EXPECTED}",
        ),
        (["g.py", "f.py"], f"unknown check 'g.py', expected {CHECK_NAMES}; {EXPECTED}"),
        (["asan"], f"no file was named, {EXPECTED}"),
        (
            ["asan", "python", "-u", "f.py"],
            f"options such as '-u' of Python are not taken, {EXPECTED}",
        ),
    ],
)
def test_triton_san_says_what_is_wrong(script, words, said):
    path = script("print(1)", "f.py")
    done = command(*words, program="triton_san_main", cwd=path.parent)
    assert (done.returncode, done.stderr) == (2, f"triton-san: {said}\n")


@pytest.mark.parametrize(
    "words, said",
    [
        (["check", "--chekcs", "asan"], "unknown option '--chekcs'; did you mean '--checks'?"),
        (["compile", "--tagret=sm_80"], "unknown option '--tagret'; did you mean '--target'?"),
        (["run", "--xyz"], "unknown option '--xyz'"),
        (["check", "--held"], "unknown option '--held'"),  # --help is near to all short words
    ],
)
def test_a_misspelt_option_is_named(script, words, said):
    path = script("print(1)", "f.py")
    done = command(*words, path)
    assert done.returncode == 2 and done.stderr.endswith(f"blockscope {words[0]}: error: {said}\n")
    assert done.stdout == ""


def test_files_below_the_current_folder_are_named_from_there(script, tmp_path):
    script("", "pkg/__init__.py")
    script(BAD, "pkg/ops.py")
    path = script("import pkg.ops")
    done = command("check", path, cwd=tmp_path)
    assert done.stderr.startswith("pkg/ops.py:7:9: error[oob-load]"), done.stderr
    done = command("check", path, cwd=tmp_path / "pkg")
    assert done.stderr.startswith("ops.py:7:9: error[oob-load]"), done.stderr
    done = command("check", path, cwd="/")
    assert done.stderr.startswith(f"{tmp_path}/pkg/ops.py:7:9: error[oob-load]"), done.stderr


@pytest.mark.parametrize("words", [["explain"], ["doctor"]])
def test_a_full_disk_is_one_line(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "blockscope", *words], stdout=full, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "blockscope: cannot write what it says: No space left on device\n"


@pytest.mark.parametrize("words", [["ir"], ["check", "--format", "json"], ["compile"]])
def test_a_full_disk_is_not_the_scripts_mistake(script, words):
    path = script(GOOD.replace("print(float(out.sum()))", ""))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "blockscope", *words, path], stdout=full,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "blockscope: cannot write what it says: No space left on device"
    assert "Traceback" not in done.stderr


def test_an_import_that_fails_shows_the_users_frames_only(script):
    path = script("import triton\ndef load():\n    import no_such_module\nload()\n")
    done = command("run", path)
    assert done.returncode == 1 and "No module named 'no_such_module'" in done.stderr
    assert done.stderr.count('  File "') == 2, done.stderr


def test_a_closed_stdout_is_no_error(script):
    path = script(GOOD)
    line = f"{sys.executable} -m blockscope check --format json {path} >&-"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr


def test_a_script_that_ends_at_once_is_reported(script):
    path = script(BAD + "import os\nos._exit(0)\n")
    done = command("check", path)
    assert done.returncode == 66 and "error[oob-load]" in done.stderr
    path = script(GOOD + "import os\nos._exit(7)\n")
    done = command("check", path)
    assert done.returncode == 7 and done.stderr.startswith(f"{NOTHING} up to")


def test_an_old_compiled_part_is_named(script):
    code = """
        import sys
        from blockscope import _core
        del _core.settings
        from blockscope.cli import main
        sys.exit(main())
    """
    path = script(code)
    old = "the compiled part is older than the Python part: run ./dev build"
    for words in (["doctor"], ["check", script(GOOD, "good.py")]):
        done = subprocess.run([sys.executable, path, *words], capture_output=True, text=True)
        assert done.returncode == 1 and old in done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
