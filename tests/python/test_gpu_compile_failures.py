"""What the compiler meets outside of kernels' code: names of all kinds, an assembler that does not
end, fatal errors of LLVM. Each is compiled, or an error of the kernel, and the process lives.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope.errors import OutOfResources, PTXASError
from blockscope.runtime.backends.cuda import tools
from blockscope.runtime.jit import MockTensor
from test_cli import command

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


@triton.jit
def scale_kernel(x_ptr, BLOCK: tl.constexpr):
    x = x_ptr + tl.arange(0, BLOCK)
    tl.store(x, tl.load(x) * 2)


def compiled(kernel: Any) -> Any:
    fresh = triton.jit(kernel.fn)  # which knows of no compilation
    return fresh.warmup(MockTensor(tl.float32), BLOCK=128, grid=(1,), arch="sm_90a")


# --- names ----------------------------------------------------------------------------------------


def kernel_named(name: str, folder: Path) -> Any:
    """A kernel whose function needs shared memory and libdevice too."""
    path = folder / "named.py"
    path.write_text(
        "import blockscope as triton\n"
        "import blockscope.language as tl\n"
        "@triton.jit\n"
        f"def {name}(x_ptr, BLOCK: tl.constexpr):\n"
        "    x = x_ptr + tl.arange(0, BLOCK)\n"
        "    tl.store(x, tl.sum(tl.erf(tl.load(x)), 0) + tl.load(x))\n"
    )
    variables: dict[str, Any] = {"__name__": "named", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), variables)
    return variables[name]


def entry(kernel: Any) -> str:
    found = re.search(r"\.entry (\S+)\(", kernel.asm["ptx"])
    assert found and kernel.metadata.name == found[1]
    return found[1]


@pytest.mark.parametrize("name", ["k" * 300, "größe" * 60, "größe", "_", "WARP_SZ",
                                  "shared_memory", "__nv_erff"])  # fmt: skip
def test_kernels_may_have_any_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))
    kernel = compiled(kernel_named(name, tmp_path))
    assert kernel.name == name and kernel.warnings == []
    assert entry(kernel) == name if name == "k" * 300 else re.fullmatch(r"\w+", entry(kernel), re.A)
    (folder,) = (tmp_path / "dump").iterdir()
    files = sorted(folder.iterdir())
    assert [file.suffix for file in files] == [".cubin", ".ll", ".plan", ".ptx", ".tl", ".tlg"]
    assert len({file.stem for file in files}) == 1 and len(files[0].name.encode()) < 130


def test_long_names_with_one_beginning_have_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))
    for name in ("k" * 299 + "a", "k" * 299 + "b"):
        compiled(kernel_named(name, tmp_path))
    stems = {file.stem for file in (tmp_path / "dump").glob("*/*.ptx")}
    assert len(stems) == 2


def test_the_compile_command_writes_files_for_long_names(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, triton, triton.language as tl\n"
        "@triton.jit\n"
        f"def {'k' * 300}(x_ptr):\n"
        "    tl.store(x_ptr, 1.0)\n"
        f"{'k' * 300}[(1,)](torch.zeros(1))\n"
    )
    done = command("compile", "--emit", "ptx", "-o", tmp_path / "out", script)
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "out").iterdir()
    assert len(file.name) < 130 and f".entry {'k' * 300}(" in file.read_text()


def environment(**variables: str) -> dict[str, str]:
    """For a script that imports this file."""
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": paths, "BLOCKSCOPE_CACHE": "0", **variables}


# --- ptxas ----------------------------------------------------------------------------------------


def slow_ptxas(folder: Path) -> Path:
    """A program that never ends and whose child does not either; their numbers are in `pids`."""
    program = folder / "ptxas"
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in --version) echo release 13.0; exit;; esac\n'
        "sleep 1000 &\n"
        f"echo $$ $! > {folder}/pids\n"
        "wait\n"
    )
    program.chmod(0o755)
    return program


def has_ended(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"  # somebody else has to fetch it


def assert_all_ended(pids: Path) -> None:
    numbers = [int(number) for number in pids.read_text().split()]
    assert len(numbers) == 2
    end = time.monotonic() + 10
    while not all(map(has_ended, numbers)):
        assert time.monotonic() < end, "ptxas or its child still runs"
        time.sleep(0.01)


def test_ptxas_has_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(slow_ptxas(tmp_path)))
    monkeypatch.setenv("BLOCKSCOPE_PTXAS_SECONDS", "1")
    begin = time.monotonic()
    with pytest.raises(PTXASError) as error:
        compiled(scale_kernel)
    assert 1 <= time.monotonic() - begin < 30
    text = str(error.value)
    assert text.startswith("ptxas error: kernel 'scale_kernel': did not end within 1 seconds on /")
    assert "was stopped; BLOCKSCOPE_PTXAS_SECONDS gives it more time" in text
    kept = re.search(r" on (\S+\.ptx) ", text)
    assert kept and ".entry scale_kernel(" in Path(kept[1]).read_text()
    assert_all_ended(tmp_path / "pids")


@pytest.mark.parametrize("value", ["soon", "-1", "1.5"])
def test_a_bad_limit_is_one_clear_error(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_PTXAS_SECONDS", value)
    message = f"BLOCKSCOPE_PTXAS_SECONDS is '{value}', expected a whole number from 0"
    with pytest.raises(ValueError, match=re.escape(message)):
        compiled(scale_kernel)


def test_what_ptxas_says_is_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ptxas"
    program.write_text('#!/bin/sh\necho "line 3: no" >&2\nexit 7\n')
    program.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(program))
    message = r"kernel 'scale_kernel': ended with status 7 on \S+\.ptx: line 3: no"
    with pytest.raises(PTXASError, match=message):
        compiled(scale_kernel)
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    with pytest.raises(PTXASError, match=r"was killed by signal 11 \(Segmentation fault\)"):
        compiled(scale_kernel)


def test_what_ptxas_refuses_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tuner compiles each configuration, and times it, and compiles it again where it is best."""
    program, log = tmp_path / "ptxas", tmp_path / "log"
    count = f'case "$*" in *-arch*) echo run >> {log};; esac'  # it is asked for its version, too
    program.write_text(f'#!/bin/sh\n{count}\necho "line 3: no" >&2\nexit 7\n')
    program.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(program))
    texts = set()
    for _ in range(3):
        with pytest.raises(PTXASError) as error:
            compiled(scale_kernel)
        texts.add(str(error.value))
    assert log.read_text() == "run\n" and len(texts) == 1
    program.write_text(program.read_text().replace("3: no", "3: not at all"))  # another program
    with pytest.raises(PTXASError, match="not at all"):
        compiled(scale_kernel)
    # What says nothing of the kernel may be otherwise next time.
    program.write_text(f'#!/bin/sh\n{count}\necho "No space left" >&2\nexit 7\n')
    log.unlink()
    for _ in range(2):
        with pytest.raises(PTXASError, match="No space left"):
            compiled(scale_kernel)
    assert log.read_text() == "run\nrun\n"


TOO_FEW = (
    "ptxas fatal   : (C7602) Insufficient registers (128) to compile instruction at line $line in "
    "function k. Try to compile with register target of 154 or higher."
)


def test_too_few_registers_are_out_of_resources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ptxas"
    program.write_text(
        '#!/bin/bash\nfor word in "$@"; do [[ $word == *.ptx ]] && file=$word; done\n'
        "line=$(grep -n 'st.global' $file | head -1 | cut -d: -f1)\n"
        f'echo "{TOO_FEW}" >&2\nexit 255\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(program))
    with pytest.raises(OutOfResources) as caught:
        compiled(scale_kernel)
    error = caught.value
    assert (error.required, error.limit, error.name) == (154, 128, "registers of a thread")
    line = scale_kernel.fn.__code__.co_firstlineno + 3
    where = f"kernel 'scale_kernel', {__file__}:{line}: out of resource"
    assert str(error).startswith(where)
    assert "hint: fewer warps (num_warps)" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)


def test_a_ptxas_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ptxas"
    program.write_text('#!/bin/sh\necho "Cuda compilation tools, release 12.8, V12.8.93"\n')
    program.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(program))
    fresh = triton.jit(scale_kernel.fn)
    with pytest.raises(PTXASError) as caught:
        fresh.warmup(MockTensor(tl.float32), BLOCK=128, grid=(1,), arch="sm_103a")
    text = str(caught.value)
    assert f"'{program}', release 12.8, is too old for sm_103a" in text
    assert "mistake" not in text and "newer one" in text


def test_ptxas_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import test_gpu_compile_failures as cases\ncases.compiled(cases.scale_kernel)\n"
    )
    variables = environment(TRITON_PTXAS_PATH=str(slow_ptxas(tmp_path)))
    child = subprocess.Popen([sys.executable, str(script)], env=variables)
    pids = tmp_path / "pids"
    while not (pids.exists() and pids.read_text().endswith("\n")):
        assert child.poll() is None
        time.sleep(0.01)
    child.kill()
    child.wait()
    ptxas, its_child = (int(number) for number in pids.read_text().split())
    os.kill(its_child, signal.SIGTERM)  # which is not ours
    end = time.monotonic() + 10
    while not has_ended(ptxas):
        assert time.monotonic() < end, "ptxas still runs"
        time.sleep(0.01)


def compiling(folder: Path, ptxas: Path, before: str, statement: str) -> subprocess.Popen[str]:
    """A process that compiles, and prints 'interrupted' where a Ctrl-C ends that."""
    script = folder / "script.py"
    script.write_text(
        # a shell that runs the tests in the background has it ignored
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"{before}\ntry:\n    {statement}\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    return subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True,
        env=environment(TRITON_PTXAS_PATH=str(ptxas)),
    )  # fmt: skip


def test_ctrl_c_ends_ptxas(tmp_path: Path) -> None:
    process = compiling(
        tmp_path, slow_ptxas(tmp_path),
        "import test_gpu_compile_failures as cases", "cases.compiled(cases.scale_kernel)",
    )  # fmt: skip
    pids, end = tmp_path / "pids", time.monotonic() + 60
    while not (pids.exists() and pids.read_text().endswith("\n")):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted\n" and process.returncode == 0
    assert_all_ended(pids)


def test_ctrl_c_ends_every_run_of_ptxas(tmp_path: Path) -> None:
    """Where registers are chosen there are several, one behind another and at the same time."""
    ptxas, runs = tmp_path / "ptxas", tmp_path / "runs"
    real = gpu_rows.gpu_tools.ptxas()
    ptxas.write_text(
        f'#!/bin/sh\ncase "$1" in --version) exec {real} "$@";; esac\n'
        f'echo >> {runs}\n[ $(wc -l < {runs}) = 1 ] || sleep 60\nexec {real} "$@"\n'
    )
    ptxas.chmod(0o755)
    process = compiling(
        tmp_path, ptxas,
        "import torch, test_register_choice as cases\nfrom test_kernel_notes import compiled\n"
        "x = torch.zeros(1 << 14)",
        "compiled(cases.scaled_sum, x, x, x, len(x), 3, BLOCK=4096)",
    )  # fmt: skip
    end = time.monotonic() + 60
    while not (runs.exists() and len(runs.read_text()) > 1):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[0] == "interrupted\n" and process.returncode == 0


# --- LLVM -----------------------------------------------------------------------------------------


def test_a_fatal_error_of_llvm_is_an_error_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "ptx_version", lambda: 60)  # of which sm_90a knows nothing
    with pytest.raises(PTXASError) as error:
        compiled(scale_kernel)
    text = str(error.value)
    assert text.startswith("ptxas error: kernel 'scale_kernel': ")
    assert "is too old for sm_90a: PTX version 6.0 does not support target 'sm_90a'" in text
    monkeypatch.undo()
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    assert compiled(scale_kernel).asm["cubin"]


def test_fatal_errors_on_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "ptx_version", lambda: 60)
    errors: list[str] = []

    def compile_once() -> None:
        try:
            compiled(scale_kernel)
        except PTXASError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=compile_once) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 8 and all("PTX version 6.0" in error for error in errors)


def test_a_process_with_fatal_errors_ends_as_usual(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import test_gpu_compile_failures as cases\n"
        "cases.tools.ptx_version = lambda: 60\n"
        "try:\n"
        "    cases.compiled(cases.scale_kernel)\n"
        "except cases.PTXASError:\n"
        "    print('error')\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=60, env=environment()
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "error\n", "")
