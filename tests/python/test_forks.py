"""Launches in processes that a process which has launched makes: by fork, forkserver and spawn."""

import pytest
from test_cli import command
from thread_programs import run_program

CHILDREN = """
import os, signal, time

faulthandler.register(signal.SIGALRM, chain=True)  # its timer is a thread, which no child has

def in_children(count, work, limit_s=20):
    # Forks so many children that call work(), and waits for them.
    for number in range(count):
        child = os.fork()
        if child == 0:
            signal.alarm(limit_s)
            status = 1
            try:
                work()
                status = 0
            except BaseException:
                import traceback
                traceback.print_exc()
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0, f"child {number}"

@triton.jit
def later(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * 3, i < n)

def launch_later():
    x, out = np.arange(1000, dtype=np.int32), np.zeros(1000, np.int32)
    later[(8,)](x, out, 1000, BLOCK=128)
    assert (out == 3 * x).all()

def launch_all():
    launch_add()
    launch_later()
    with triton.check("asan,tsan") as report:
        launch_add()
        launch_add(100, block=64)
    assert report.clean

def while_others(work, do, threads=3):
    # Calls do() while so many threads call work() again and again.
    ended, errors = threading.Event(), []
    def repeat():
        try:
            while not ended.is_set():
                work()
        except BaseException as error:
            errors.append(error)
    others = [threading.Thread(target=repeat) for _ in range(threads)]
    for other in others: other.start()
    try:
        do()
    finally:
        ended.set()
        for other in others: other.join()
    if errors: raise errors[0]
"""


def test_a_child_launches_as_its_parent_did(tmp_path):
    run_program(
        tmp_path,
        CHILDREN
        + """
launch_all()
in_children(2, lambda: in_children(2, launch_all))
on_threads(4, lambda number: launch_all())
in_children(2, lambda: on_threads(4, lambda number: launch_all()))
launch_all()
""",
        BLOCKSCOPE_THREADS="4",
    )


@pytest.mark.parametrize("steps", ["0", "1"])
def test_forks_while_other_threads_launch(tmp_path, steps):
    run_program(
        tmp_path,
        CHILDREN
        + """
def launch_some():
    launch_add()
    with triton.check("asan"):
        launch_add(100)

while_others(launch_some, lambda: in_children(60, launch_all))
""",
        BLOCKSCOPE_THREADS="4",
        TRITON_INTERPRET=steps,
    )


def test_forks_during_first_launches(tmp_path):
    """Each of them finds the process in another state of what is made only once."""
    run_program(
        tmp_path,
        CHILDREN
        + """
def fork_soon(number):
    if number:
        launch_all()
    else:
        for _ in range(20):
            in_children(1, launch_all)
            time.sleep(0.002)

on_threads(4, fork_soon)
""",
        BLOCKSCOPE_THREADS="4",
    )


def test_forks_while_others_compile_for_a_gpu(tmp_path):
    run_program(
        tmp_path,
        CHILDREN
        + """
from blockscope.language import core

def compile_for_gpu():
    add.device_caches.clear()
    add.warmup(core.float32, core.float32, core.float32, 100, BLOCK=128, grid=(1,), arch="sm_90a")

while_others(compile_for_gpu, lambda: in_children(15, compile_for_gpu), threads=2)
""",
        BLOCKSCOPE_CACHE="0",
    )


def test_a_child_in_a_check_raises_what_it_finds(tmp_path):
    run_program(
        tmp_path,
        CHILDREN
        + """
from blockscope.errors import SanitizerError

@triton.jit
def bad(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK) + 1, 1)

def find():
    launch_all()
    try:
        bad[(1,)](np.zeros(64, np.int32), BLOCK=64)
    except SanitizerError as error:
        assert "oob-store" in str(error), error
    else:
        raise AssertionError("nothing was raised")
    launch_add()  # raises nothing again

with triton.check("asan") as report:
    launch_add()
    in_children(2, find)
    assert report.clean
    bad[(1,)](np.zeros(64, np.int32), BLOCK=64)
    assert len(report) == 1
    in_children(1, launch_all)
    assert len(report) == 1
""",
    )


def test_a_child_leaves_the_trace_of_its_parent_alone(tmp_path):
    run_program(
        tmp_path,
        CHILDREN
        + f"""
import h5py
path = {str(tmp_path / "parent.bst")!r}
with triton.trace(path):
    launch_add()
    in_children(2, launch_all)
    child = os.fork()
    launch_add()
if child == 0:  # it has closed the trace, and ends as C programs end
    import ctypes
    ctypes.CDLL(None).exit(0)
assert os.waitpid(child, 0)[1] == 0
with h5py.File(path) as trace:
    assert len(trace["launches"]) == 2
""",
    )


def test_forks_while_others_trace(tmp_path):
    run_program(
        tmp_path,
        CHILDREN
        + f"""
folder = {str(tmp_path)!r}
def trace():
    with triton.trace(f"{{folder}}/{{os.getpid()}}-{{threading.get_ident()}}.bst"):
        launch_add()

while_others(trace, lambda: in_children(30, trace))
""",
    )


PROCESSES = """
import multiprocessing

def square(number):
    x, out = np.arange(number, dtype=np.float32), np.zeros(number, np.float32)
    add[(triton.cdiv(number, 64),)](x, x, out, number, BLOCK=64)
    return out.sum()

if __name__ == "__main__":
    launch_add()
    context = multiprocessing.get_context({method!r})
    with context.Pool(3) as pool:
        numbers = list(range(1, 40))
        sums = pool.map(square, numbers, chunksize=1)
    assert sums == [n * (n - 1) for n in numbers], sums
    launch_add()
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing(tmp_path, method):
    run_program(tmp_path, PROCESSES.replace("{method!r}", repr(method)))


LOADER = """
import torch

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, row):
        x, out = torch.arange(100) + float(row), torch.zeros(100)
        add[(2,)](x, x, out, 100, BLOCK=64)
        return out

if __name__ == "__main__":
    x, out = torch.ones(100), torch.zeros(100)
    add[(2,)](x, x, out, 100, BLOCK=64)
    loader = torch.utils.data.DataLoader(
        Rows(), batch_size=4, num_workers={workers}, multiprocessing_context={method!r}
    )
    batches = torch.cat(list(loader))
    expected = 2 * (torch.arange(100.0)[None] + torch.arange(24)[:, None])
    assert torch.equal(batches, expected)
"""


@pytest.mark.parametrize("method, workers", [("fork", 2), ("spawn", 1)])
def test_workers_of_torchs_data_loader(tmp_path, method, workers):
    source = LOADER.replace("{method!r}", repr(method)).replace("{workers}", str(workers))
    run_program(tmp_path, source)


CHILD = """
import multiprocessing, sys
import torch, triton, triton.language as tl

@triton.jit
def kernel(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), tl.program_id(0))

def work(programs):
    kernel[(programs,)](torch.ones(32), B=32)

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    work(1)
    child = multiprocessing.Process(target=work, args=[int(sys.argv[2])])
    child.start()
    child.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_command_checks_children_too(tmp_path, method):
    script = tmp_path / "script.py"
    script.write_text(CHILD)
    done = command("check", str(script), method, "4")
    assert done.returncode == 66
    assert "no findings" in done.stderr and "in child process " in done.stderr
    assert "script.py:7:5: error[race-write-write]: programs 1 and 0" in done.stderr
    done = command("check", str(script), method, "1")
    assert done.returncode == 0 and "in child process" not in done.stderr
