"""tl.dot_scaled on the GPU: formats, scales, packing. Operands are few bits wide, so the reference
in float64 differs only in how sums are rounded.
"""

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest

torch = pytest.importorskip("torch")

FORMS = ("e2m1", "e4m3", "e5m2", "bf16", "fp16")
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
KINDS = {
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


@triton.jit
def dot_scaled_kernel(
    a, a_scale, b, b_scale, out, acc,
    A: tl.constexpr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    GROUP: tl.constexpr, A_K: tl.constexpr, B_K: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    A_ROWS: tl.constexpr = M // 2 if A == "e2m1" and not A_K else M
    A_COLUMNS: tl.constexpr = K // 2 if A == "e2m1" and A_K else K
    B_ROWS: tl.constexpr = K // 2 if B == "e2m1" and B_K else K
    B_COLUMNS: tl.constexpr = N // 2 if B == "e2m1" and not B_K else N
    x = tl.load(a + tl.arange(0, A_ROWS)[:, None] * A_COLUMNS + tl.arange(0, A_COLUMNS)[None, :])
    y = tl.load(b + tl.arange(0, B_ROWS)[:, None] * B_COLUMNS + tl.arange(0, B_COLUMNS)[None, :])
    groups = tl.arange(0, K // GROUP)[None, :]
    if a_scale is not None:
        a_scale = tl.load(a_scale + tl.arange(0, M)[:, None] * (K // GROUP) + groups)
    if b_scale is not None:
        b_scale = tl.load(b_scale + tl.arange(0, N)[:, None] * (K // GROUP) + groups)
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    if acc is not None:
        acc = tl.load(acc + at)
    c = tl.dot_scaled(
        x, a_scale, A, y, b_scale, B, acc, FAST, lhs_k_pack=A_K, rhs_k_pack=B_K,
        out_dtype=out.dtype.element_ty,
    )  # fmt: skip
    tl.store(out + at, c)


def operand(form, values_or_codes, axis):
    """What a kernel takes, and the values: of e2m1 the numbers 0 to 15 are given, two of which
    along an axis share a byte."""
    if form == "e2m1":
        codes = values_or_codes
        low = codes.take(range(0, codes.shape[axis], 2), axis)
        high = codes.take(range(1, codes.shape[axis], 2), axis)
        packed = np.ascontiguousarray(low | high << 4).astype(np.uint8)
        return torch.from_numpy(packed), FP4[codes]
    given = torch.from_numpy(values_or_codes).to(KINDS[form])
    return given, given.double().numpy()


def random_operand(form, shape, axis, random):
    if form == "e2m1":
        return operand(form, random.integers(0, 16, shape), axis)
    return operand(form, random.uniform(-3, 3, shape), axis)


def along_k(scale, group):
    """The factors of the elements of an operand [rows, K]. A byte of 0 is 0, as in Triton."""
    if scale is None:
        return 1.0
    if scale.dtype == torch.uint8:
        power = scale.double().numpy() - 127
        number = np.where(power == 128, np.nan, np.where(power == -127, 0, np.exp2(power)))
    else:
        number = scale.double().numpy()
    return np.repeat(number, group, axis=1)


def launch(a, a_scale, b, b_scale, out, acc, forms, shape, device="cpu", group=32,
           packs=(True, True), fast=False, warps=4):  # fmt: skip
    arguments = [None if x is None else x.to(device) for x in (a, a_scale, b, b_scale, out, acc)]
    dot_scaled_kernel[(1,)](*arguments, *forms, *shape, group, *packs, fast, num_warps=warps)
    return arguments[4].cpu()


def run_random(forms, shape, device, scaled="ab", group=32, kind=torch.uint8, packs=(True, True),
               out=torch.float32, tolerance=2e-6, seed=0, warps=4):  # fmt: skip
    """Returns the result, held to float64. Sums of exact products in fp32: the tolerance is a part
    of the sum of absolute values."""
    m, n, k = shape
    random = np.random.default_rng(seed)
    a, left = random_operand(forms[0], (m, k), 1 if packs[0] else 0, random)
    b, right = random_operand(forms[1], (k, n), 0 if packs[1] else 1, random)

    def scales(rows):
        size = (rows, k // group)
        if kind == torch.uint8:
            return torch.from_numpy(random.integers(121, 133, size)).to(kind)
        return torch.from_numpy(random.uniform(0.1, 4, size)).to(kind)

    a_scale = scales(m) if "a" in scaled else None
    b_scale = scales(n) if "b" in scaled else None
    acc = torch.from_numpy(random.uniform(-1, 1, (m, n))).to(out) if "c" in scaled else None
    left = left * along_k(a_scale, group)
    right = right * np.transpose(along_k(b_scale, group))
    expected, size = left @ right, np.abs(left) @ np.abs(right)
    if acc is not None:
        expected, size = expected + acc.double().numpy(), size + acc.double().abs().numpy()
    got = torch.full((m, n), 77, dtype=out)
    got = launch(a, a_scale, b, b_scale, got, acc, forms, shape, device, group, packs, warps=warps)
    assert (np.abs(got.double().numpy() - expected) <= tolerance * size).all()
    return got


#: With fp16 among the formats, products of small scales are subnormal, and bf16 is rounded.
def tolerance_of(forms):
    return 1e-5 if "fp16" in forms else 2e-6


@pytest.mark.parametrize("scaled", ["a", "b", "abc"])
@pytest.mark.parametrize("right", FORMS)
@pytest.mark.parametrize("left", FORMS)
def test_formats(left, right, scaled, device):
    forms = left, right
    run_random(forms, (64, 64, 128), device, scaled, tolerance=tolerance_of(forms))


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("packs", [(True, True), (False, True), (True, False), (False, False)])
@pytest.mark.parametrize("shape", [(16, 32, 64), (128, 64, 64), (128, 128, 128)])
def test_packing(shape, packs, warps, device):
    run_random(("e2m1", "e2m1"), shape, device, packs=packs, warps=warps)


@pytest.mark.parametrize("kind", [torch.uint8, torch.float8_e4m3fn])
def test_groups_of_16(kind, device):
    run_random(("e2m1", "e2m1"), (64, 64, 64), device, group=16, kind=kind)


def every_scale(codes, form, fast, device):
    """Each of 256 scales times e2m1, seen through a dot with ones. The reference multiplies as the
    kernel does, in ``form``, with one rounding."""
    import ml_dtypes

    common = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}[form]
    power = np.exp2(np.arange(256.0) - 127)
    power[0], power[255] = 0, np.inf if fast else np.nan
    scale = torch.arange(256).to(torch.uint8)[:, None].contiguous()
    ones, _ = operand(form, np.ones((32, 16)), 0)
    for code in codes:
        a, values = operand("e2m1", np.full((256, 32), code), 1)
        out = torch.zeros((256, 16))
        forms = "e2m1", form
        out = launch(a, scale, ones, None, out, None, forms, (256, 16, 32), device, fast=fast)
        with np.errstate(all="ignore"):
            scaled = values.astype(common) * power.astype(np.float32).astype(common)[:, None]
            want = np.float32(32) * scaled[:, :16].astype(np.float32)
        np.testing.assert_array_equal(out.numpy(), want)
        assert np.isfinite(want[:141]).all() and not np.isfinite(want[255]).any()


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("form", ["bf16", "fp16"])
def test_every_scale(form, fast, device):
    every_scale(range(16), form, fast, device)
