"""Two GPUs of one process; a GPU and forked children."""

import blockscope as triton
import blockscope.language as tl
import pytest
from thread_programs import run_program

torch = pytest.importorskip("torch")

needs_two = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.device_count() < 2, reason="needs two GPUs"
)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


def inputs(device, n=1000):
    return (
        torch.randn(n, device=device),
        torch.randn(n, device=device),
        torch.zeros(n, device=device),
    )


def launch(x, y, out):
    add[(triton.cdiv(out.numel(), 128),)](x, y, out, out.numel(), BLOCK=128)


@needs_two
def test_devices_by_turns():
    both = [inputs("cuda:0"), inputs("cuda:1")]
    for number in range(50):
        x, y, out = both[number % 2]
        out.zero_()
        launch(x, y, out)
        assert torch.equal(out, x + y)
        assert torch.cuda.current_device() == 0


@needs_two
def test_the_stream_is_that_of_the_tensors_device():
    x, y, out = inputs("cuda:1", 1 << 16)
    new = torch.randn(1 << 16, device="cuda:1")
    launch(x, y, out)
    torch.cuda.synchronize("cuda:1")
    side = torch.cuda.Stream("cuda:1")
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)  # cycles: what runs on another stream reads the old x
        x.copy_(new)
        with torch.cuda.device(0):
            launch(x, y, out)
            assert torch.cuda.current_device() == 0
    side.synchronize()
    assert torch.equal(out, new + y)


@needs_two
@pytest.mark.parametrize("current", [0, 1])
def test_a_graph_on_the_second_device(current):
    x, y, out = inputs("cuda:1")
    launch(x, y, out)
    torch.cuda.synchronize("cuda:1")
    expected, changed = x + y, 2 * x + y
    out.zero_()
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream("cuda:1")
    with torch.cuda.device(1), torch.cuda.graph(graph, stream=side), torch.cuda.device(current):
        launch(x, y, out)
    assert not out.any()  # it was recorded, not run
    graph.replay()
    torch.cuda.synchronize("cuda:1")
    assert torch.equal(out, expected)
    x.mul_(2)
    torch.cuda.synchronize("cuda:1")
    graph.replay()
    torch.cuda.synchronize("cuda:1")
    assert torch.equal(out, changed)


@needs_two
def test_checks_and_steps_of_the_second_device():
    x, y, out = inputs("cuda:1", 300)
    with triton.check("asan,tsan") as report:
        launch(x, y, out)
    assert report.clean and torch.equal(out, x + y)
    out.zero_()
    triton.set_interpret_mode(True)
    try:
        launch(x, y, out)
    finally:
        triton.set_interpret_mode(False)
    assert torch.equal(out, x + y)


@needs_two
def test_autotune_for_the_second_device():
    @triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 256)], key=["n"])
    @triton.jit
    def tuned(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

    x, y, out = inputs("cuda:1")
    tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000)
    assert torch.equal(out, x + y) and torch.cuda.current_device() == 0


@needs_two
def test_tensors_of_two_devices():
    x, y, out = inputs("cuda:0")
    launch(x, y, out)
    far = y.to("cuda:1")
    assert torch.equal(far.to("cuda:0"), y)  # torch lets each device reach the other's memory
    out.zero_()
    if torch.cuda.can_device_access_peer(0, 1):
        launch(x, far, out)
        assert torch.equal(out, x + y)
    else:
        with pytest.raises(ValueError, match="which do not reach each other's memory"):
            launch(x, far, out)


KERNELS = """
import torch

def kernels():
    # The same five kernels for all threads, new in this process.
    made = []
    for k in range(5):
        @triton.jit
        def scaled(x, out, n, K: tl.constexpr, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, tl.load(x + i, i < n) * K, i < n)
        made.append(scaled)
    return made

kernels = kernels()

def launch_on(device, rounds=20):
    x, out = torch.randn(5000, device=device), torch.empty(5000, device=device)
    for _ in range(rounds):
        for k, kernel in enumerate(kernels):
            kernel[(40,)](x, out, 5000, K=k + 1, BLOCK=128)
            assert torch.equal(out, x * (k + 1)), (device, k)
"""


@needs_two
def test_a_thread_per_device_from_the_first_launch_on(tmp_path):
    run_program(tmp_path, KERNELS + "on_threads(2, lambda number: launch_on(f'cuda:{number}'))")


@needs_two
def test_threads_that_share_the_devices(tmp_path):
    run_program(
        tmp_path,
        KERNELS
        + """
def work(number):
    torch.cuda.set_device(number // 2 % 2)  # of each pair of threads one uses the other device
    side = torch.cuda.Stream(f"cuda:{number % 2}")
    with torch.cuda.stream(side), torch.cuda.device(number // 2 % 2):
        launch_on(f"cuda:{number % 2}")

on_threads(8, work)
""",
    )


def test_first_launches_from_many_threads(tmp_path):
    run_program(tmp_path, KERNELS + "on_threads(16, lambda number: launch_on('cuda', 5))")


def test_a_forked_child_launches_on_the_cpu_alone(tmp_path):
    run_program(
        tmp_path,
        KERNELS
        + """
import os
from blockscope import _core
from blockscope.errors import LaunchError
x, out = torch.randn(5000, device="cuda"), torch.empty(5000, device="cuda")
kernels[0][(40,)](x, out, 5000, K=1, BLOCK=128)
child = os.fork()
if child == 0:
    status = 1
    try:
        launch_add()
        assert "forked" in _core.gpu.why_unavailable()
        try:
            kernels[0][(40,)](x, out, 5000, K=1, BLOCK=128)
        except LaunchError as error:
            assert "forked" in str(error), error
            status = 0
    finally:
        os._exit(status)
assert os.waitpid(child, 0)[1] == 0
launch_on("cuda")
""",
    )
