"""The check `precision`: errors against NumPy in float64, and which lines they come from."""

import inspect
import re

import blockscope
import blockscope.language as tl
import numpy as np
import pytest
import torch


@pytest.fixture(params=["flat", "step"])
def mode(request):
    blockscope.set_interpret_mode(request.param == "step")
    yield
    blockscope.set_interpret_mode(False)


def line_of(kernel, text):
    """The number of the one line of a kernel that has a text."""
    lines, first = inspect.getsourcelines(kernel.fn)
    (found,) = [first + i for i, line in enumerate(lines) if text in line]
    return found


def checked(launch, **options):
    """The findings of a launch."""
    with blockscope.check("precision", error_shares="all", **options) as report:
        launch()
    return report.findings


def shares_of(launch):
    """By line, of the one output that a launch has, and the relative error."""
    (finding,) = [f for f in checked(launch) if f.code == "error-shares"]
    relative = float(re.search(r"relative error (\S+)", finding.message).group(1))
    return {share["line"]: share["share"] for share in finding.shares}, relative


def bf16(x):
    return torch.as_tensor(x).bfloat16().float().numpy()


def relative_error(got, exact):
    return np.linalg.norm(got - exact) / np.linalg.norm(exact)


@blockscope.jit
def two_casts(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i).to(tl.bfloat16)
    y = tl.load(y_ptr + i)
    y = y.to(tl.bfloat16)
    tl.store(out_ptr + i, x.to(tl.float32) * 3 + y.to(tl.float32))


def test_shares_are_those_of_independent_errors(mode):
    x, y = torch.rand(512), torch.rand(512)
    out = torch.zeros(512)
    shares, relative = shares_of(lambda: two_casts[(1,)](x, y, out, BLOCK=512))
    exact = x.double().numpy() * 3 + y.double().numpy()
    assert relative == pytest.approx(relative_error(out.numpy(), exact), rel=0.06)
    of_x = np.sum((3 * (bf16(x) - x.numpy())) ** 2)
    of_y = np.sum((bf16(y) - y.numpy()) ** 2)
    assert shares[line_of(two_casts, "x_ptr + i")] == pytest.approx(of_x / (of_x + of_y), rel=1e-3)
    assert shares[line_of(two_casts, "y = y.to")] == pytest.approx(of_y / (of_x + of_y), rel=1e-3)


@blockscope.jit
def largest_and_where(left_value, left_index, right_value, right_index):
    takes_left = left_value > right_value
    return tl.where(takes_left, left_value, right_value), tl.where(
        takes_left, left_index, right_index
    )


@blockscope.jit
def affine(left_factor, left_term, right_factor, right_term):
    return left_factor * right_factor, left_term * right_factor + right_term


@blockscope.jit
def hypotenuse(left, right):
    return tl.sqrt(left * left + right * right)


@blockscope.jit
def through(x_ptr, out_ptr, CASE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i).to(tl.bfloat16).to(tl.float32)
    if CASE == "exp":
        y = tl.exp(-x)
    elif CASE == "sum":
        y = x / tl.sum(x, axis=1)[:, None]
    elif CASE == "max":
        y = x - tl.max(x, axis=0)[None, :]
    elif CASE == "scan":
        y = tl.cumsum(x, axis=1)
    elif CASE == "reverse scan":
        y = tl.cumsum(x, axis=0, reverse=True)
    elif CASE == "largest":
        value, _ = tl.max(x, axis=1, return_indices=True)
        y = x * value[:, None]
    elif CASE == "picked":
        value, _ = tl.reduce((x, i), 1, largest_and_where)
        y = x * value[:, None]
    elif CASE == "user's reduction":
        y = x * tl.reduce(x, 1, hypotenuse)[:, None]
    elif CASE == "user's scan":
        _, y = tl.associative_scan((x, x), 1, affine)
    elif CASE == "sort":
        y = tl.sort(x)
    elif CASE == "dot":
        y = tl.dot(x, tl.trans(x), input_precision="ieee")
    elif CASE == "where":
        y = tl.where(x > 0.5, x * x, -x)
    elif CASE == "split":
        left, right = tl.split(tl.reshape(x, [M, N // 2, 2]))
        y = tl.reshape(tl.join(right, left * 2), [M, N])
    elif CASE == "loop":
        y = x
        for _ in range(5):
            y = y * 1.5 + x
    tl.store(out_ptr + i, y)


def expected(case, x):
    """The same in NumPy, of float64 operands."""
    if case == "user's scan":
        out, term = np.zeros_like(x), 0
        for j in range(x.shape[1]):
            term = term * x[:, j] + x[:, j]
            out[:, j] = term
        return out
    if case == "loop":
        y = x
        for _ in range(5):
            y = y * 1.5 + x
        return y
    if case == "split":
        pairs = x.reshape(len(x), -1, 2)
        return np.stack([pairs[:, :, 1], pairs[:, :, 0] * 2], axis=2).reshape(x.shape)
    return {
        "exp": lambda: np.exp(-x),
        "sum": lambda: x / x.sum(axis=1, keepdims=True),
        "max": lambda: x - x.max(axis=0, keepdims=True),
        "scan": lambda: np.cumsum(x, axis=1),
        "reverse scan": lambda: np.cumsum(x[::-1], axis=0)[::-1],
        "largest": lambda: x * x.max(axis=1, keepdims=True),
        "picked": lambda: x * x.max(axis=1, keepdims=True),
        "user's reduction": lambda: x * np.sqrt((x * x).sum(axis=1, keepdims=True)),
        "sort": lambda: np.sort(x, axis=1),
        "dot": lambda: x @ x.T,
        "where": lambda: np.where(bf16(x) > 0.5, x * x, -x),
    }[case]()


CASES = ["exp", "sum", "max", "scan", "reverse scan", "largest", "picked", "user's reduction",
         "user's scan", "sort", "dot", "where", "split", "loop"]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [16, 128])  # 128 x 128 is computed strip by strip
def test_an_error_goes_through_every_op(mode, case, size):
    if size == 128 and case == "user's scan":
        size = 32
    # Values that bf16 tells apart, so that the kernel picks what NumPy picks.
    torch.manual_seed(1)
    x = (torch.randperm(size * size).float().reshape(size, size) + 0.3) / (size * size)
    out = torch.zeros(size, size)
    shares, relative = shares_of(lambda: through[(1,)](x, out, CASE=case, M=size, N=size))
    exact = expected(case, x.double().numpy())
    assert relative == pytest.approx(relative_error(out.numpy(), exact), rel=0.06)
    assert shares[line_of(through, "x_ptr + i")] > 0.99


@blockscope.jit
def scaled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, x * 2.0, mask=i < n)


@blockscope.jit
def rounded(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x.to(tl.bfloat16), mask=i < n)


@pytest.mark.parametrize("is_overwritten", [False, True])
def test_errors_in_memory_go_on_to_later_launches(mode, is_overwritten):
    x, between, out = torch.rand(100), torch.zeros(100), torch.zeros(100)

    def launch():
        rounded[(4,)](x, between, 100, BLOCK=32)
        if is_overwritten:
            between.copy_(torch.rand(100))
        scaled[(4,)](between, out, 100, BLOCK=32)

    of_out = [f for f in checked(launch) if f.kernel == "scaled"]
    if is_overwritten:
        assert of_out == []
        return
    (finding,) = of_out
    (share,) = finding.shares
    assert share["line"] == line_of(rounded, "x.to(tl.bfloat16)") and share["share"] == 1
    assert share["what"] == "a cast to bf16"
    error = relative_error(out.numpy(), 2 * x.double().numpy())
    assert float(finding.message.split()[-1]) == pytest.approx(error, rel=0.06)


@blockscope.jit
def add_all(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + i % 2, tl.load(x_ptr + i))


def test_atomic_sums_in_fp16(mode):
    torch.manual_seed(0)
    x, out = torch.rand(4096).half(), torch.zeros(2, dtype=torch.float16)
    findings = checked(lambda: add_all[(32,)](x, out, BLOCK=128))
    assert {f.code for f in findings} == {"error-shares", "narrow-sum"}
    (finding,) = [f for f in findings if f.code == "error-shares"]
    assert [s["what"] for s in finding.shares] == ["atomic additions in fp16"]
    exact = x.double().numpy().reshape(-1, 2).sum(axis=0)
    assert float(finding.message.split()[-1]) == pytest.approx(
        relative_error(out.numpy(), exact), rel=0.06
    )


@blockscope.jit
def copied(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) / 0.0)


def test_what_is_exact_or_infinite_is_silent(mode):
    x, out = torch.rand(64), torch.zeros(64)
    assert checked(lambda: scaled[(1,)](x, out, 64, BLOCK=64)) == []
    assert checked(lambda: copied[(1,)](x, out, BLOCK=64)) == []


def test_the_worst_launch_is_told_of(mode):
    x, out = torch.rand(100), torch.zeros(100)

    def launch():
        rounded[(4,)](torch.ones(100), out, 100, BLOCK=32)
        rounded[(4,)](x, out, 100, BLOCK=32)
        rounded[(4,)](x, out, 50, BLOCK=32)

    (finding,) = checked(launch)
    assert finding.count == 1
    assert dict(finding.meta_parameters)["n"] == "100"


def test_all_leaves_reports_out():
    from blockscope import checks

    assert "precision" not in checks.parse_checks("all")
    assert checks.parse_checks("all,precision") == [*checks.parse_checks("all"), "precision"]
