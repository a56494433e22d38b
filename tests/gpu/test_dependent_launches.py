"""launch_pdl: launches that begin before the one ahead has ended, and wait for it themselves."""

import blockscope as triton
import blockscope.language as tl
import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def needs_sm_90(device):
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("launches overlap from sm_90 on")


@triton.jit
def slow_step_kernel(x_ptr, y_ptr, iterations, N: tl.constexpr):
    """y = x + 1, stored late, long after the next launch may have begun."""
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    tl.extra.cuda.gdc_launch_dependents()
    tl.extra.cuda.gdc_wait()
    x = tl.load(x_ptr + offsets)
    y = x + 1.0
    for _ in range(iterations):
        y = tl.sqrt_rn(y * y)
    tl.store(y_ptr + offsets, y)


@pytest.mark.parametrize("pdl", [False, True])
def test_a_chain_of_launches(pdl, device):
    programs, size = 64, 256
    buffers = [torch.zeros(programs * size, device=device) for _ in range(2)]
    for step in range(20):
        slow_step_kernel[(programs,)](
            buffers[step % 2], buffers[1 - step % 2], 500, size, launch_pdl=pdl
        )
    assert (buffers[0] == 20).all()


def test_in_a_graph(device):
    programs, size = 16, 256
    x, y = (torch.zeros(programs * size, device=device) for _ in range(2))

    def both():
        slow_step_kernel[(programs,)](x, y, 500, size, launch_pdl=True)
        slow_step_kernel[(programs,)](y, x, 500, size, launch_pdl=True)

    both()  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        both()
    x.zero_()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert (x == 6).all()
