"""Loops that carry a recurrence, or are long, and store in every iteration: their small loads are
done an iteration early, but not what the loop stores to.
"""

import blockscope as triton
import blockscope.language as tl
import pytest
from blockscope.language.extra import libdevice
from test_dot import check, rand

torch = pytest.importorskip("torch")

EARLY = "into registers, an iteration early"


@triton.jit
def scan_kernel(
    x_ptr, gate_ptr, key_ptr, y_ptr, steps_ptr, rows, width,
    R: tl.constexpr, S: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """h = gate * h + x key, y = h summed over key's elements; each program has other steps."""
    program = tl.program_id(0)
    row, along = tl.arange(0, R), tl.arange(0, S)
    x_ptrs = x_ptr + program * rows * R + row
    y_ptrs = y_ptr + program * rows * R + row
    state = tl.zeros((R, S), tl.float32)
    for step in range(tl.load(steps_ptr + program)):
        at = program * rows + step
        if MOVED:
            x = tl.load(x_ptrs)
            x_ptrs += R
        else:
            x = tl.load(x_ptr + at * R + row)
        gate = tl.load(gate_ptr + at)
        key = tl.load(key_ptr + at * S + along, along < width, 0.0)
        state = gate * state + x[:, None] * key[None, :]
        if MOVED:
            tl.store(y_ptrs, tl.sum(state, 1))
            y_ptrs += R
        else:
            tl.store(y_ptr + at * R + row, tl.sum(state, 1))


def run_scan(steps, moved, device, warps=4):
    width, most, rows, columns = 27, max([*steps, 1]), 32, 32
    count = len(steps)
    x, gate = rand((count, most, rows), torch.float32, device), torch.rand(count, most).to(device)
    key = torch.full((count, most, columns), float("inf"), device=device)
    key[:, :, :width] = rand((count, most, width), torch.float32, device)
    y = torch.full((count, most, rows), 7.0, device=device)
    numbers = torch.tensor(steps, dtype=torch.int32, device=device)
    kernel = scan_kernel[(count,)](
        x, gate, key, y, numbers, most, width, rows, columns, moved, num_warps=warps
    )
    want = torch.full_like(y, 7, dtype=torch.float64)
    for i, number in enumerate(steps):
        state = torch.zeros(rows, width, dtype=torch.float64, device=device)
        for step in range(number):
            outer = x[i, step].double()[:, None] * key[i, step, :width].double()[None, :]
            state = gate[i, step].double() * state + outer
            want[i, step] = state.sum(1)
    check(y, want, 1e-4)
    return kernel


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("steps", [[0], [1, 0, 2], [7, 3, 64]])
def test_scan(steps, moved, warps, device):
    kernel = run_scan(steps, moved, device, warps)
    assert kernel.asm["plan"].count(EARLY) == 3


@triton.jit
def in_place_kernel(x_ptr, gate_ptr, steps, R: tl.constexpr):
    """Each iteration adds to what the next one loads."""
    row = tl.arange(0, R)
    state = tl.zeros((R,), tl.float32)
    for step in range(steps):
        x = tl.load(x_ptr + step * R + row)
        gate = tl.load(gate_ptr + step)
        state = gate * state + tl.sum(x) / R
        later = x_ptr + (step + 1) * R + row
        tl.store(later, tl.load(later) + state)


def run_in_place(steps, device):
    rows = 128
    x, gate = rand((steps + 1, rows), torch.float32, device), torch.rand(steps + 1).to(device)
    want, state = x.double().clone(), torch.zeros(rows, dtype=torch.float64, device=device)
    for step in range(steps):
        state = gate[step].double() * state + want[step].mean()
        want[step + 1] += state
    kernel = in_place_kernel[(1,)](x, gate, steps, rows, num_warps=4)
    check(x, want, 1e-4)
    return kernel


@pytest.mark.parametrize("steps", [0, 2, 7])
def test_in_place(steps, device):
    kernel = run_in_place(steps, device)
    assert kernel.asm["plan"].count(EARLY) == 1  # of the gate


@pytest.mark.parametrize("moved", [False, True])
def test_overlapping_arguments(moved, device):
    """A launch with the same tensor for both loads each number in its iteration."""
    steps, rows, columns = 5, 32, 32
    x, gate = rand((steps + 1, rows), torch.float32, device), torch.rand(steps).to(device)
    key = rand((steps, columns), torch.float32, device)
    want, state = [], torch.zeros(rows, columns, dtype=torch.float64, device=device)
    values = x.double().clone()
    for step in range(steps):
        state = gate[step].double() * state + values[step][:, None] * key[step].double()[None, :]
        values[step + 1] = state.sum(1)
        want.append(values[step + 1])
    numbers = torch.tensor([steps], dtype=torch.int32, device=device)
    scan_kernel[(1,)](
        x, gate, key, x[1:], numbers, steps, columns, rows, columns, moved, num_warps=1
    )
    check(x[1:], torch.stack(want), 1e-4)


@triton.jit
def decayed_kernel(
    q_ptr, g_ptr, k_ptr, decay_ptr, y_ptr, steps, S: tl.constexpr, R: tl.constexpr
):  # fmt: skip
    """y[step, r] = sum of q[r] * k[step] * exp(g[r] - decay[step]): no iteration needs another."""
    row, along = tl.arange(0, R), tl.arange(0, S)
    at = row[:, None] * S + along[None, :]
    q, g = tl.load(q_ptr + at), tl.load(g_ptr + at)
    for step in range(steps):
        k = tl.load(k_ptr + step * S + along)
        decay = tl.load(decay_ptr + step * S + along)
        products = q * k[None, :] * tl.exp(g - decay[None, :])
        tl.store(y_ptr + step * R + row, tl.sum(products, 1))


@pytest.mark.parametrize("steps", [0, 1, 2, 9])
def test_long_iterations(steps, device):
    """64 exponentials of a thread are a long iteration: its loads are done in the one before."""
    rows, columns = 16, 128
    q, g = (rand((rows, columns), torch.float32, device) for _ in range(2))
    k, decay = (rand((max(steps, 1), columns), torch.float32, device) for _ in range(2))
    y = torch.full((max(steps, 1), rows), 7.0, device=device)
    kernel = decayed_kernel[(1,)](q, g, k, decay, y, steps, columns, rows, num_warps=1)
    assert steps == 1 or kernel.asm["plan"].count(EARLY) == 2
    want = torch.einsum(
        "rk,sk,rsk->sr",
        q.double(), k.double(), (g.double()[:, None] - decay.double()[None]).exp(),
    )  # fmt: skip
    check(y, want if steps else y.double(), 1e-4)


@triton.jit
def gradients_kernel(
    x_ptr, up_ptr, scale_ptr, weight_ptr, dx_ptr, sums_ptr, total_ptr, rows, columns,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Of sum(up * weight * tanh(scale * x)): for x, the weights and the scale."""
    at = tl.arange(0, BLOCK)
    inside = at < columns
    scale = tl.load(scale_ptr)
    weight = tl.load(weight_ptr + at, inside, 0.0).to(tl.float32)
    sums, total = tl.zeros((BLOCK,), tl.float32), 0.0
    for row in range(rows):
        x = tl.load(x_ptr + row * columns + at, inside, 0.0).to(tl.float32)
        up = tl.load(up_ptr + row * columns + at, inside, 0.0).to(tl.float32)
        y = libdevice.tanh(scale * x)
        sums += up * y
        dx = (1 - y * y) * up * weight
        total += tl.sum(x * dx)
        tl.store(dx_ptr + row * columns + at, scale * dx, inside)
    tl.store(sums_ptr + at, sums, inside)
    tl.store(total_ptr, total)


def run_gradients(rows, device):
    columns = 1008
    x, up = (rand((max(rows, 1), columns), torch.bfloat16, device) for _ in range(2))
    weight = rand((columns,), torch.bfloat16, device)
    scale = torch.tensor([0.75], device=device)
    dx = torch.zeros((max(rows, 1), columns), dtype=torch.bfloat16, device=device)
    sums, total = torch.zeros(columns, device=device), torch.zeros(1, device=device)
    kernel = gradients_kernel[(1,)](x, up, scale, weight, dx, sums, total, rows, columns, 1024)
    a, b = x.double()[:rows], up.double()[:rows]
    y = (0.75 * a).tanh()
    want = (1 - y * y) * b * weight.double()
    if rows:
        check(dx[:rows], 0.75 * want, 1e-2)
    check(sums, (b * y).sum(0), 1e-4)
    check(total, (a * want).sum()[None], 1e-3)
    return kernel


@pytest.mark.parametrize("rows", [0, 1, 2, 9])
def test_early_loads_stay_early(rows, device):
    """ptxas puts them off to where they are used, unless they are pinned (pinned_loads.cpp)."""
    kernel = run_gradients(rows, device)
    assert rows < 2 or kernel.asm["plan"].count(EARLY) == 2
