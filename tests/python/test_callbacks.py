"""What Python raises where a kernel's workers call it is the Python error of the launch."""

from thread_programs import run_program

KERNELS = """
import io, os, signal, time

@triton.jit
def prints(x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_print("x", tl.load(x + i))

@triton.jit
def endless(x, count):
    while tl.load(x) == 0:
        tl.store(count, tl.load(count) + 1)  # changes memory: no deadlock that could be named

@triton.jit
def through_table(table, out):
    base = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0), tl.load(base))

def fails(kind, text, work):
    try:
        work()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")

x = np.zeros(1024, np.float32)
"""


def run_in_both_modes(tmp_path, source, **environment):
    for steps in ("0", "1"):
        for threads in ("1", "8"):
            run_program(
                tmp_path,
                KERNELS + source,
                TRITON_INTERPRET=steps,
                BLOCKSCOPE_THREADS=threads,
                **environment,
            )


def test_a_closed_stdout(tmp_path):
    run_in_both_modes(
        tmp_path,
        """
kept, sys.stdout = sys.stdout, io.StringIO()
sys.stdout.close()
for _ in range(3):
    fails(ValueError, "closed file", lambda: prints[(8,)](x, BLOCK=128))
sys.stdout = out = io.StringIO()
prints[(8,)](x, BLOCK=128)
assert out.getvalue().count("pid (7, 0, 0)") == 128
sys.stdout = kept
launch_add()
""",
    )


def test_no_stdout_prints_nothing_as_in_python(tmp_path):
    run_in_both_modes(tmp_path, "sys.stdout = None\nprints[(8,)](x, BLOCK=128)\n")


def test_a_broken_pipe(tmp_path):
    run_in_both_modes(
        tmp_path,
        """
reading, writing = os.pipe()
os.close(reading)
sys.stdout = os.fdopen(writing, "w", buffering=1)
fails(BrokenPipeError, "", lambda: prints[(8,)](x, BLOCK=128))
launch_add()
os._exit(0)  # at the end Python would flush the pipe
""",
    )


def test_a_write_that_raises_after_some_programs(tmp_path):
    run_program(
        tmp_path,
        KERNELS
        + """
class Full:
    def __init__(self): self.writes = 0
    def flush(self): pass
    def write(self, text):
        self.writes += 1
        if self.writes > 3: raise OSError("the disk is full")

sys.stdout = full = Full()
fails(OSError, "the disk is full", lambda: prints[(1000,)](np.zeros(128000, np.float32), BLOCK=128))
assert full.writes == 4  # nothing is written after an error
launch_add()
""",
        BLOCKSCOPE_THREADS="8",
    )


def test_a_write_that_launches_kernels(tmp_path):
    run_program(
        tmp_path,
        KERNELS
        + """
class Launching(io.StringIO):
    def write(self, text):
        launch_add()
        return super().write(text)

sys.stdout = out = Launching()
prints[(64,)](np.zeros(64 * 128, np.float32), BLOCK=128)
assert out.getvalue().count("pid") == 64 * 128
""",
        BLOCKSCOPE_THREADS="4",
    )


def test_an_error_while_live_tensors_are_looked_up(tmp_path):
    run_in_both_modes(
        tmp_path,
        """
from blockscope.runtime.memory import live_tensors

targets = [np.full(4, i, np.float32) for i in range(64)]
table = np.array([target.ctypes.data for target in targets], np.int64)
out = np.zeros(64, np.float32)
find = live_tensors.LiveTensors.find

def broken(self, address):
    raise RuntimeError("no tensors today")

live_tensors.LiveTensors.find = broken
fails(RuntimeError, "no tensors today", lambda: through_table[(64,)](table, out))
with triton.check("asan,tsan") as report:
    fails(RuntimeError, "no tensors today", lambda: through_table[(64,)](table, out))
assert report.clean, report  # an address that could not be looked up is not called wild
live_tensors.LiveTensors.find = find
through_table[(64,)](table, out)
assert (out == np.arange(64)).all()
""",
    )


def test_many_workers_look_up_the_same_tensors_at_once(tmp_path):
    run_program(
        tmp_path,
        KERNELS
        + """
targets = [np.full(4, i, np.float32) for i in range(4)]
table = np.array([targets[i % 4].ctypes.data for i in range(2000)], np.int64)
def work(number):
    out = np.zeros(2000, np.float32)
    through_table[(2000,)](table, out)
    assert (out == np.arange(2000) % 4).all()
on_threads(8, work)
""",
        BLOCKSCOPE_THREADS="8",
    )


def test_a_signal_handler_that_raises(tmp_path):
    run_program(
        tmp_path,
        KERNELS
        + """
class Enough(Exception): pass

def raise_enough(*_):
    raise Enough("enough")

signal.signal(signal.SIGALRM, raise_enough)
flag, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
for _ in range(2):
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    begin = time.monotonic()
    fails(Enough, "enough", lambda: endless[(1,)](flag, count))
    assert time.monotonic() - begin < 5
launch_add()
""",
    )


def test_an_error_while_a_step_is_located(tmp_path):
    """Step mode asks Python for the line of an access that goes wrong."""
    run_program(
        tmp_path,
        KERNELS
        + """
from blockscope.frontend import step

@triton.jit
def outside(x):
    tl.store(x + 5000, 1.0)

def broken(*_):
    raise RuntimeError("no lines today")

step.source_location = broken
for _ in range(2):
    fails(RuntimeError, "no lines today", lambda: outside[(1,)](x))
""",
        TRITON_INTERPRET="1",
    )
