"""Tensor descriptors of which only the kernel knows the base, the sizes and the strides."""

import blockscope as triton
import blockscope.language as tl
import pytest

torch = pytest.importorskip("torch")


@triton.jit
def at(pointer, offset, FORM: tl.constexpr):
    """Elements of 2 bytes behind a pointer; the compiler knows of which argument, or does not."""
    if FORM == "addresses":
        return (pointer.to(tl.int64) + offset * 2).to(tl.pointer_type(tl.float16))
    else:
        return pointer + offset


@triton.jit
def grouped_kernel(
    a_ptr, b_ptr, c_ptr, at_ptr, sizes_ptr, groups, width,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    """c = a @ b^T for each group, the tiles of all groups dealt out to `width` programs."""
    tile, end = tl.program_id(0), 0
    for group in range(groups):
        m = tl.load(sizes_ptr + group * 4)
        n = tl.load(sizes_ptr + group * 4 + 1)
        k = tl.load(sizes_ptr + group * 4 + 2)
        stride = tl.load(sizes_ptr + group * 4 + 3)
        columns = tl.cdiv(n, N)
        tiles = tl.cdiv(m, M) * columns
        a = at(a_ptr, tl.load(at_ptr + group * 3), FORM)
        b = at(b_ptr, tl.load(at_ptr + group * 3 + 1), FORM)
        c = at(c_ptr, tl.load(at_ptr + group * 3 + 2), FORM)
        a_described = tl.make_tensor_descriptor(a, [m, k], [stride, 1], [M, K])
        b_described = tl.make_tensor_descriptor(b, [n, k], [stride, 1], [N, K])
        c_described = tl.make_tensor_descriptor(c, [m, n], [(n + 7) // 8 * 8, 1], [M, N])
        while tile >= end and tile < end + tiles:
            row, column = (tile - end) // columns * M, (tile - end) % columns * N
            total = tl.zeros((M, N), tl.float32)
            for i in range(tl.cdiv(k, K)):
                left = a_described.load([row, i * K])
                right = b_described.load([column, i * K])
                total = tl.dot(left, right.trans(), total)
            c_described.store([row, column], total.to(tl.float16))
            tile += width
        end += tiles


def padded(size):
    return -(-size // 8) * 8


def run_grouped(form, groups, width, stages, device, tile=(64, 64, 64), warps=4, elements=(-2, 3)):
    """`groups`: m, n and k of each. What lies between the tensors' rows must not count."""
    rows = [(m, n, k, padded(k)) for m, n, k in groups]
    a = torch.full((max(1, sum(m * s for m, _, _, s in rows)),), 99.0).half()
    b = torch.full((max(1, sum(n * s for _, n, _, s in rows)),), 99.0).half()
    c = torch.full((max(1, sum(m * padded(n) for m, n, _, _ in rows)),), 77.0).half()
    want, starts, start = c.clone(), [], [0, 0, 0]
    for m, n, k, s in rows:
        starts.append(list(start))
        left = a[start[0] : start[0] + m * s].view(m, s)[:, :k]
        right = b[start[1] : start[1] + n * s].view(n, s)[:, :k]
        left[:], right[:] = (torch.randint(*elements, x.shape).half() for x in (left, right))
        result = want[start[2] : start[2] + m * padded(n)].view(m, padded(n))[:, :n]
        result[:] = (left.float() @ right.float().T).half()
        start = [start[0] + m * s, start[1] + n * s, start[2] + m * padded(n)]
    a, b, c = (x.to(device) for x in (a, b, c))
    offsets = torch.tensor(starts, dtype=torch.int64, device=device)
    sizes = torch.tensor(rows, dtype=torch.int32, device=device)
    kernel = grouped_kernel[(width,)](
        a, b, c, offsets, sizes, len(groups), width, *tile, form,
        num_stages=stages, num_warps=warps,
    )  # fmt: skip
    assert torch.equal(c.cpu(), want)
    return kernel


GROUPS = [(130, 72, 200), (64, 64, 64), (0, 64, 64), (5, 200, 0), (64, 1, 33), (70, 3, 129)]


@pytest.mark.parametrize("form", ["offsets", "addresses"])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("width", [1, 3, 40])
def test_grouped(width, stages, form, device):
    run_grouped(form, GROUPS, width, stages, device)


@pytest.mark.parametrize("form", ["offsets", "addresses"])
def test_grouped_of_two_warpgroups(form, device):
    run_grouped(form, GROUPS, 2, 3, device, (128, 128, 64), warps=8)


@triton.jit
def experts_kernel(
    x_ptr, w_ptr, out_ptr, experts_ptr, strides_ptr, n, k, M: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    """out[i] = x[i] @ w[experts[i]]^T for each i, of M rows, by one program."""
    i = tl.program_id(0)
    stride = tl.load(strides_ptr)
    w = tl.make_tensor_descriptor(
        w_ptr + tl.load(experts_ptr + i) * n * stride, [n, k], [stride, 1], [N, K]
    )
    x = tl.make_tensor_descriptor(x_ptr + i * M * stride, [M, k], [stride, 1], [M, K])
    total = tl.zeros((M, N), tl.float32)
    for step in range(tl.cdiv(k, K)):
        if FORM == "in the loop":  # a tensor that begins where the step does
            w = tl.make_tensor_descriptor(
                w_ptr + tl.load(experts_ptr + i) * n * stride + step * K, [n, k - step * K],
                [stride, 1], [N, K],
            )  # fmt: skip
            part = w.load([0, 0])
        else:
            part = w.load([0, step * K])
        total = tl.dot(x.load([0, step * K]), part.trans(), total)
    out = tl.make_tensor_descriptor(out_ptr + i * M * n, [M, n], [n, 1], [M, N])
    out.store([0, 0], total)


def run_experts(form, n, k, stages, device, m=64, tile=(64, 64), programs=3):
    stride = padded(k)
    x = torch.randint(-2, 3, (programs, m, stride)).half()
    w = torch.randint(-2, 3, (5, n, stride)).half()
    experts = torch.randint(0, 5, (programs,), dtype=torch.int32)
    want = torch.einsum("imk,ink->imn", x[..., :k].float(), w[experts.long()][..., :k].float())
    out = torch.full((programs, m, n), 77.0, device=device)
    strides = torch.tensor([stride], dtype=torch.int32, device=device)
    kernel = experts_kernel[(programs,)](
        x.to(device), w.to(device), out, experts.to(device), strides, n, k, m, *tile, form,
        num_stages=stages,
    )  # fmt: skip
    assert torch.equal(out.cpu(), want)
    return kernel


@pytest.mark.parametrize("form", ["before the loop", "in the loop"])
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize(("n", "k"), [(64, 64), (40, 200), (64, 1)])
def test_experts(n, k, stages, form, device):
    run_experts(form, n, k, stages, device)


@triton.jit
def carried_kernel(
    x_ptr, w_ptr, out_ptr, next_ptr, stride_ptr, count, k, M: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr,
):  # fmt: skip
    """out = the sum of x @ w[i]^T over a chain of i, whose descriptor goes from one to the next."""
    stride = tl.load(stride_ptr)
    x = tl.make_tensor_descriptor(x_ptr, [M, k], [stride, 1], [M, K])
    w = tl.make_tensor_descriptor(w_ptr, [N, k], [stride, 1], [N, K])
    total = tl.zeros((M, N), tl.float32)
    for i in range(count):
        for step in range(tl.cdiv(k, K)):
            total = tl.dot(x.load([0, step * K]), w.load([0, step * K]).trans(), total)
        w = tl.make_tensor_descriptor(
            w_ptr + tl.load(next_ptr + i) * N * stride, [N, k], [stride, 1], [N, K]
        )
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


def run_carried(count, k, stages, device, m=64, n=64, depth=64):
    stride = padded(k)
    x, w = torch.randint(-2, 3, (m, stride)).half(), torch.randint(-2, 3, (5, n, stride)).half()
    chain = torch.randint(0, 5, (max(1, count),), dtype=torch.int32)
    used = [0, *chain.tolist()][:count]
    want = sum((x[:, :k].float() @ w[i, :, :k].float().T for i in used), torch.zeros(m, n))
    out = torch.full((m, n), 77.0, device=device)
    strides = torch.tensor([stride], dtype=torch.int32, device=device)
    kernel = carried_kernel[(1,)](
        x.to(device), w.to(device), out, chain.to(device), strides, count, k, m, n, depth,
        num_stages=stages,
    )  # fmt: skip
    assert torch.equal(out.cpu(), want)
    return kernel


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("k", [64, 200])
def test_carried(k, count, stages, device):
    run_carried(count, k, stages, device)
