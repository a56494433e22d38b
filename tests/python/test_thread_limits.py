"""Launches where threads cannot be made."""

import os

import pytest
from thread_programs import run_program

LIMITED = """
import resource
STACK = 512 << 20  # of a thread: so much address space each takes

def leave_room_for(threads):
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + int((threads + 0.7) * STACK), hard))

hard = resource.getrlimit(resource.RLIMIT_AS)[1]

@triton.jit
def wait_for_all(counter, total):
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) < total:
        pass

@triton.jit
def wait_for_ever(counter):
    while tl.atomic_add(counter, 0) == 0:
        pass

# Compiled here, with all the memory there is.
kernels = [add.warmup(*[np.zeros(8, np.float32)] * 3, 8, BLOCK=128, grid=(1,))]
"""


@pytest.fixture
def large_stacks():
    """Child processes have threads with stacks of 512 MiB."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_STACK)
    if before[1] != resource.RLIM_INFINITY and before[1] < 512 << 20:
        pytest.skip("the limit on stacks cannot be raised")
    resource.setrlimit(resource.RLIMIT_STACK, (512 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_STACK, before)


def test_no_thread_at_all_is_an_error_and_later_launches_work(tmp_path, large_stacks):
    run_program(
        tmp_path,
        LIMITED
        + """
leave_room_for(0)
for _ in range(3):
    try:
        launch_add()
    except RuntimeError as error:
        assert "kernel 'add': no thread can be made to run its programs" in str(error), error
        assert "Resource temporarily unavailable" in str(error), error
    else:
        raise AssertionError("launched")
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
launch_add()
on_threads(4, lambda number: launch_add())
""",
        BLOCKSCOPE_THREADS="4",
    )


@pytest.mark.parametrize("room", [1, 2])
def test_fewer_threads_than_asked_for_are_enough(tmp_path, large_stacks, room):
    run_program(
        tmp_path,
        LIMITED
        + f"""
import os, time
from blockscope.errors import SanitizerError
leave_room_for({room})
launch_add(100000)
def has_workers(count):
    for _ in range(500):  # a thread gives itself its name
        names = [open(f"/proc/self/task/{{t}}/comm").read() for t in os.listdir("/proc/self/task")]
        if names.count("blk-worker\\n") == count:
            return True
        time.sleep(0.01)
    return False
assert has_workers({room})
counter = np.zeros(1, np.int32)
wait_for_all[(16,)](counter, 16)
try:
    wait_for_ever[(3,)](np.zeros(1, np.int32))
except SanitizerError as error:
    assert "deadlock" in str(error)
else:
    raise AssertionError("no deadlock")
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
launch_add(100000)
assert has_workers(8)
""",
        BLOCKSCOPE_THREADS="8",
    )


def test_a_launch_waits_for_threads_that_are_busy(tmp_path, large_stacks):
    """Two threads in all, and four launches at once that want both."""
    run_program(
        tmp_path,
        LIMITED
        + """
launchers = []
barrier = threading.Barrier(5)
def work():
    barrier.wait()
    for _ in range(20):
        launch_add(20000)
    launchers.append(1)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
leave_room_for(2)
barrier.wait()
for thread in threads: thread.join()
assert len(launchers) == 4
""",
        BLOCKSCOPE_THREADS="2",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without processes")
def test_the_limit_on_processes(tmp_path):
    tmp_path.chmod(0o755)
    run_program(
        tmp_path,
        LIMITED
        + """
import os
os.setuid(54321)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
try:
    launch_add()
except RuntimeError as error:
    assert "no thread can be made" in str(error) and "ulimit -u" in str(error), error
else:
    raise AssertionError("launched")
""",
        BLOCKSCOPE_THREADS="4",
    )
