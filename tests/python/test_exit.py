"""The end of Python while daemon threads launch kernels: no crash, no hang, nothing printed."""

import time

import pytest
from thread_programs import run_program

KERNELS = """
import io, time

@triton.jit
def many_rounds(x, rounds, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for k in range(rounds):
        tl.store(x + i, tl.load(x + i) + 1)

@triton.jit
def prints(x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_print("x", tl.load(x + i))

def launch_short():
    launch_add()

def launch_long():
    x = np.zeros(1 << 20, np.float32)
    many_rounds[(1 << 10,)](x, 1 << 30, BLOCK=1024)

def launch_printing():
    prints[(8,)](np.zeros(1024, np.float32), BLOCK=128)

@triton.jit
def takes_turns(x):
    me = tl.program_id(0)
    while tl.load(x, volatile=True) >= 0:
        if tl.atomic_add(x, 0) % 3 == me:
            tl.atomic_add(x, 1)

def launch_takes_turns():
    takes_turns[(3,)](np.zeros(1, np.int32))

def launch_through_table():
    targets = [np.full(4, i, np.float32) for i in range(16)]
    table = np.array([target.ctypes.data for target in targets], np.int64)
    through_table[(16,)](table, np.zeros(16, np.float32))

@triton.jit
def through_table(table, out):
    base = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0), tl.load(base))

def compile_for_gpu():
    from blockscope.language import core
    add.device_caches.clear()
    add.warmup(core.float32, core.float32, core.float32, 100, BLOCK=128, grid=(1,), arch="sm_90a")

def check_launch():
    with triton.check("asan,tsan"):
        launch_add()

class Null(io.StringIO):
    def write(self, text): pass

def repeat(work):
    started.release()
    while True:
        work()

started = threading.Semaphore(0)
def end_while_others(*works):
    sys.stdout = Null()
    for work in works:
        threading.Thread(target=repeat, args=(work,), daemon=True).start()
    for work in works:
        started.acquire()
    time.sleep(0.3)
"""


def run_to_the_end(tmp_path, source, **environment):
    for _ in range(2):
        begin = time.monotonic()
        done = run_program(tmp_path, KERNELS + source, **environment)
        assert done.stderr == "", done.stderr
        assert time.monotonic() - begin < 20


@pytest.mark.parametrize("steps", ["0", "1"])
@pytest.mark.parametrize(
    "work",
    [
        "short",
        "long",
        "printing",
        "through_table",
        "takes_turns",
        "short, launch_long, launch_printing",
    ],
)
def test_the_end_while_others_launch(tmp_path, work, steps):
    source = f"end_while_others(*3 * [launch_{work}])"
    run_to_the_end(tmp_path, source, TRITON_INTERPRET=steps, BLOCKSCOPE_THREADS="4")


def test_the_end_while_others_check(tmp_path):
    run_to_the_end(tmp_path, "end_while_others(check_launch, check_launch, launch_short)")


def test_the_end_while_others_compile_for_a_gpu(tmp_path):
    run_to_the_end(
        tmp_path, "end_while_others(compile_for_gpu, compile_for_gpu)", BLOCKSCOPE_CACHE="0"
    )


def test_the_main_thread_may_launch_to_the_last(tmp_path):
    done = run_program(
        tmp_path,
        # Exit handlers run in the opposite order: the first one here runs last.
        "import atexit\n"
        "atexit.register(lambda: (launch_add(), print('launched')))\n"
        + KERNELS
        + "end_while_others"
        "(launch_short)\nsys.stdout = sys.__stdout__\n",
    )
    assert done.stdout == "launched\n"


def test_threads_that_python_waits_for_end_their_launches(tmp_path):
    done = run_program(
        tmp_path,
        """
        def work():
            for _ in range(50):
                launch_add()
            print("all", flush=True)
        for _ in range(4):
            threading.Thread(target=work).start()
        """,
    )
    assert done.stdout.count("all") == 4
