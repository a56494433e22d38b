"""The check `nan`: what is born, what came from memory, what goes nowhere; and `hints`."""

import json

import blockscope
import blockscope.language as tl
import pytest
import torch
from blockscope.language.extra import libdevice

INF = float("inf")


@blockscope.jit
def apply(x_ptr, out_ptr, CASE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if CASE == "copy":
        y = x
    elif CASE == "difference":
        y = x - x
    elif CASE == "reciprocal":
        y = 1 / x
    elif CASE == "sigmoid":
        y = 1 / (1 + tl.exp(-x))
    elif CASE == "exp":
        y = tl.exp(x)
    elif CASE == "log":
        y = tl.log(x)
    elif CASE == "asin":
        y = libdevice.asin(x)
    elif CASE == "half":
        y = x.to(tl.float16).to(tl.float32)
    elif CASE == "bfloat":
        y = (x * 1e30).to(tl.float32)
    elif CASE == "sum":
        y = x * 0 + tl.sum(1 / x, axis=0)
    elif CASE == "scan":
        y = tl.cumsum(1 / x, axis=0)
    elif CASE == "dropped by where":
        y = tl.where(x == 0, 0.0, 1 / x)
    elif CASE == "replaced by minimum":
        y = tl.minimum(1 / x, 100.0)
    elif CASE == "NaN replaced by maximum":
        y = tl.maximum(tl.sqrt(x - 1), 0.0)
    elif CASE == "tested for NaN":
        y = x / x
        y = tl.where(y != y, 0.0, y)
    elif CASE == "tested by isnan":
        y = x / x
        y = tl.where(libdevice.isnan(y) != 0, 0.0, y)
    elif CASE == "tested for infinity":
        y = 1 / x
        y = tl.where(tl.abs(y) == float("inf"), 0.0, y)
    elif CASE == "exponential of a mask":
        y = tl.exp(tl.where(x == 0, float("-inf"), x))
    elif CASE == "maximum of a mask":
        y = x * 0 + tl.max(tl.where(x == 0, float("-inf"), x), axis=0)
    elif CASE == "stored mask":
        y = tl.where(x == 0, float("-inf"), x)
    elif CASE == "logsumexp of a mask":
        y = tl.where(x == 0, float("-inf"), x) + tl.log(x * 0 + 1)
    elif CASE == "bits of NaN":
        y = (x.to(tl.int32, bitcast=True) | 0x7FC00000).to(tl.float32, bitcast=True)
    tl.store(out_ptr + i, y)


@blockscope.jit
def scaled_sum(x_ptr, out_ptr, scale, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + i) / scale, axis=0))


@pytest.fixture(params=["flat", "step"])
def mode(request):
    blockscope.set_interpret_mode(request.param == "step")
    yield
    blockscope.set_interpret_mode(False)


def found(case, x, checks="nan"):
    with blockscope.check(checks) as report:
        apply[(1,)](torch.tensor(x), torch.zeros(len(x)), case, BLOCK=len(x))
    return [(f.code, f.severity, f.message) for f in report.findings]


NAN, BIG = "nan-born", "infinity-born"
BORN = [
    ("reciprocal", [0.0, 1.0], BIG, "warning", "1 / 0 gives inf, which a store writes"),
    ("exp", [1.0, 100.0], BIG, "error", "exp(100) gives inf, which a store writes"),
    ("log", [-1.0, 1.0], NAN, "error", "log(-1) gives NaN, which a store writes"),
    ("log", [0.0, 1.0], BIG, "warning", "log(0) gives -inf, which a store writes"),
    ("asin", [2.0, 1.0], NAN, "error", "asinf(2) gives NaN, which a store writes"),
    ("half", [70000.0, 1.0], BIG, "error", "fp16(70000) gives inf, which a store writes"),
    ("bfloat", [1e10, 1.0], BIG, "error", "1e+10 * 1e+30 gives inf, which a store writes"),
    ("sum", [0.0, 1.0], BIG, "warning", "1 / 0 gives inf, which a store writes"),
    ("scan", [0.0, 1.0], BIG, "warning", "1 / 0 gives inf, which a store writes"),
    ("difference", [-INF, 1.0], NAN, "error", "-inf - (-inf) gives NaN, which a store writes"),
]
SILENT = [
    ("copy", [INF, float("nan")]),
    ("difference", [INF, float("nan")]),
    ("exp", [INF, -INF, float("nan"), 1.0]),
    ("sigmoid", [-1000.0, 1000.0]),
    *[
        (case, [0.0, 1.0])
        for case in (
            "dropped by where",
            "replaced by minimum",
            "NaN replaced by maximum",
            "tested for NaN",
            "tested by isnan",
            "tested for infinity",
            "exponential of a mask",
            "maximum of a mask",
            "stored mask",
            "logsumexp of a mask",
            "bits of NaN",
        )
    ],
]


@pytest.mark.parametrize("case, x, code, severity, message", BORN)
def test_what_is_born(case, x, code, severity, message, mode):
    assert found(case, x) == [(code, severity, message)]


@pytest.mark.parametrize("case, x", SILENT)
def test_what_goes_nowhere_or_was_there_before(case, x, mode):
    assert found(case, x) == []


def test_the_checks_go_together(mode):
    assert [code for code, _, _ in found("reciprocal", [0.0, 1.0], "all")] == [BIG]


def test_the_report_as_json_has_both_places(mode):
    with blockscope.check("nan") as report:
        scaled_sum[(1,)](torch.zeros(8), torch.zeros(1), 0.0, BLOCK=8)
    (finding,) = json.loads(report.json())
    assert finding["code"] == NAN
    assert finding["message"] == "0 / 0 gives NaN, which an atomic takes"
    (there,) = finding["arrives_at"]
    assert there["access"] == "atomic" and there["line"] == finding["line"]
    assert finding["tensor"] == "out_ptr"


@blockscope.jit
def quantise(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize(
    "dtype, x, said",
    [
        (torch.float8_e4m3fn, 448.01, []),
        (torch.float8_e4m3fn, 463.0, []),
        (
            torch.float8_e4m3fn,
            -470.0,
            ["fp8e4nv(-470) gives the largest fp8e4nv, which a store writes"],
        ),
        (torch.float8_e5m2, 61000.0, []),
        (torch.float8_e5m2, 1e6, ["fp8e5(1e+06) gives the largest fp8e5, which a store writes"]),
        (torch.float8_e5m2, INF, []),
        (torch.float16, 1e6, ["fp16(1e+06) gives inf, which a store writes"]),
        (torch.bfloat16, 3.4e38, ["bf16(3.4e+38) gives inf, which a store writes"]),
        (torch.bfloat16, 3.38e38, []),
    ],
)
def test_casts_that_hold_too_little(dtype, x, said, mode):
    with blockscope.check("nan") as report:
        quantise[(1,)](torch.tensor([1.0, x]), torch.zeros(2, dtype=dtype), BLOCK=2)
    assert [f.message for f in report.findings] == said
    assert all((f.severity == "warning") == ("largest" in f.message) for f in report.findings)


@blockscope.jit
def hinted(x_ptr, out_ptr, stride, CASE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.arange(0, 4)[:, None] * stride
    i = row + tl.arange(0, BLOCK)[None, :]
    if CASE == "rows":
        i = tl.max_contiguous(tl.multiple_of(i, [1, 16]), [1, BLOCK])
    elif CASE == "columns":
        i = tl.max_constancy(i, [4, 1])
    elif CASE == "scalar":
        stride = tl.multiple_of(stride, 8)
        i += tl.where(stride > 1000, stride, 0)
    elif CASE == "pointer":
        x_ptr = tl.multiple_of(x_ptr, 16)
    elif CASE == "pointers":
        at = tl.max_contiguous(tl.multiple_of(x_ptr + i, [1, 16]), [1, BLOCK])
        tl.store(out_ptr + i, tl.load(at))
    tl.store(out_ptr + i, tl.load(x_ptr + i))


@pytest.mark.parametrize(
    "case, stride, start, said",
    [
        ("rows", 16, 0, []),
        ("rows", 24, 0, ["multiple_of(16) along dimension 1 does not hold"]),
        ("columns", 0, 0, []),
        ("columns", 16, 0, ["max_constancy(4) along dimension 0 does not hold"]),
        ("scalar", 24, 0, []),
        ("scalar", 20, 0, ["multiple_of(8) does not hold"]),
        ("pointer", 16, 4, []),
        ("pointer", 16, 3, ["multiple_of(16) does not hold"]),
        ("pointers", 16, 4, []),
        ("pointers", 16, 3, ["multiple_of(16) along dimension 1 does not hold"]),
    ],
)
def test_hints_are_held_against_values(case, stride, start, said, mode):
    with blockscope.check("hints") as report:
        hinted[(1,)](torch.ones(200)[start:], torch.zeros(200), stride, case, BLOCK=16)
    assert [f.message for f in report.findings] == said


def test_a_kept_kernel_meets_other_arguments(mode):
    x, out = torch.ones(200), torch.zeros(200)
    kernel = hinted[(1,)](x, out, 16, "none", BLOCK=16)
    if kernel is None:  # step by step nothing is compiled
        return
    with blockscope.check("hints") as report:
        kernel[(1,)](x, out, 32)
        kernel[(1,)](x[4:], out, 32)
        assert [f.message for f in report.findings] == []
        kernel[(1,)](x[3:], out, 32)
    (finding,) = report.findings
    assert finding.code == "false-hint"
    assert finding.message == (
        "'hinted' was compiled for 'x_ptr' as a multiple of 16, and is given an address with "
        "remainder 12"
    )


@blockscope.jit
def claimed(x_ptr, out_ptr, n: tl.int32, m, bias_ptr, pair, BLOCK: tl.constexpr, shift):
    i = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + i) * n * m + pair[0] + pair[1]
    if bias_ptr is not None:
        y += tl.load(bias_ptr + i)
    tl.store(out_ptr + i, y + shift)


@pytest.mark.parametrize(
    "change, said",
    [
        ({}, []),
        ({"n": 1, "m": 1}, []),
        ({"n": 5}, ["'n' as 1, and is given 5"]),
        ({"n": -1}, ["'n' as 1, and is given -1"]),
        ({"m": 7}, ["'m' as 1, and is given 7"]),
        ({"m": 1.5}, ["'m' as 1, and is given 1.5"]),
        ({"n": 2, "m": 2}, ["'n' as 1, and is given 2", "'m' as 1, and is given 2"]),
        ({"bias_ptr": torch.ones(64)}, ["'bias_ptr' as None, and is given one of type *fp32"]),
        ({"pair": (5, 32)}, []),
        ({"pair": (2**40, 32)}, ["'pair[0]' of type i32, and is given 1099511627776"]),
        (
            {"pair": (3, 33)},
            ["'pair[1]' as a multiple of 16, and is given a number with remainder 1"],
        ),
        ({"pair": (1, 16)}, []),
        ({"x_ptr": torch.ones(64).half()}, [
            "'x_ptr' of type *fp32, and is given one of type *fp16"
        ]),
        ({"x_ptr": torch.ones(67)[3:]}, [
            "'x_ptr' as a multiple of 16, and is given an address with remainder 12"
        ]),
        ({"BLOCK": 32}, ["'BLOCK' as 64, and is given 32"]),
        ({"shift": 48}, []),
        ({"shift": 17}, [
            "'shift' as a multiple of 16, and is given a number with remainder 1"
        ]),
    ],
)  # fmt: skip
def test_what_a_kept_kernel_was_compiled_for(change, said, mode):
    given = {"x_ptr": torch.ones(64), "out_ptr": torch.zeros(64), "n": 1, "m": 1, "bias_ptr": None,
             "pair": (5, 16), "BLOCK": 64, "shift": 16}  # fmt: skip
    kernel = claimed[(1,)](**given)
    if kernel is None:  # step by step nothing is compiled
        return
    with blockscope.check("hints") as report:
        for _ in range(2):
            kernel[(1,)](*(given | change).values())
    want = {f"'claimed' was compiled for {each}" for each in said}
    assert {f.message for f in report.findings} == want
    assert all(f.code == "false-hint" for f in report.findings)
    assert report.text().count("count: 2 times\n") == len(said)


def test_a_kernel_for_an_annotated_1_has_a_hash_of_its_own(mode):
    given = [torch.ones(64), torch.zeros(64)]
    one, five = (claimed.warmup(*given, n, 1, None, (5, 16), 64, 16, grid=(1,)) for n in (1, 5))
    assert one.hash != five.hash and one.src.hash() != five.src.hash()
    assert one.src.signature == five.src.signature
