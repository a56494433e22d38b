"""tl.dot_scaled by the block-scaled mma.sync of sm_120a and sm_121a: on the machine for PTX,
without a GPU, against float64 and, where every sum is exact, against the CPU bit for bit.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import blockscope
import blockscope.language as tl
import gpu_rows
import machine_backend
import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_dot_scaled as scaled_dots  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)

FORMS = ("e2m1", "e4m3", "e5m2")
PAIRS = [(left, right) for left in FORMS for right in FORMS]


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Launches on CPU tensors go to the machine; the kernels that it ran."""
    return machine_backend.record(monkeypatch, "sm_120a")


def products(kernel: Any) -> set[str]:
    """The instructions that multiply, with the formats of operands and scales."""
    found = re.findall(r"mma\.sync\.aligned\.(\S+)", kernel.asm["ptx"])
    return {
        re.sub(r"^(m\w+)\.row\.col\.(?:kind::(\w+)\S*?::(\dX))?\.?", r"\1 \2 \3 ", name).strip()
        for name in found
    }


def expected_product(left: str, right: str, depth: int, packs: Any = (True, True)) -> str:
    if left == right == "e2m1" and depth >= 64 and all(packs):
        return "m16n8k64 mxf4 2X f32.e2m1.e2m1.f32.ue8m0"
    return f"m16n8k32 mxf8f6f4 1X f32.{left}.{right}.f32.ue8m0"


@pytest.mark.parametrize("scaled", ["", "a", "b", "abc"])
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_formats(kernels: list[Any], left: str, right: str, scaled: str) -> None:
    scaled_dots.run_random((left, right), (64, 32, 64), "cpu", scaled)
    assert products(kernels[0]) == {expected_product(left, right, 64)}


@pytest.mark.parametrize("depth", [32, 64, 128, 256])
@pytest.mark.parametrize(
    "forms", [("e4m3", "e5m2"), ("e2m1", "e2m1"), ("e2m1", "e4m3"), ("e5m2", "e2m1")]
)
def test_depths(kernels: list[Any], forms: tuple[str, str], depth: int) -> None:
    scaled_dots.run_random(forms, (32, 64, depth), "cpu")
    assert products(kernels[0]) == {expected_product(*forms, depth)}


@pytest.mark.parametrize(
    ("shape", "warps"),
    [
        ((16, 16, 64), 1), ((16, 16, 64), 8), ((8, 4, 64), 4), ((1, 16, 32), 2),
        ((16, 128, 128), 4), ((128, 16, 128), 4), ((64, 64, 64), 2), ((128, 128, 128), 4),
        ((128, 256, 64), 8),
    ],
)  # fmt: skip
@pytest.mark.parametrize("forms", [("e4m3", "e4m3"), ("e2m1", "e2m1"), ("e4m3", "e2m1")])
def test_tiles(kernels: list[Any], forms: tuple[str, str], shape: Any, warps: int) -> None:
    scaled_dots.run_random(forms, shape, "cpu", "abc", warps=warps)
    assert products(kernels[0]) == {expected_product(*forms, shape[2])}


@pytest.mark.parametrize("packs", [(False, True), (True, False), (False, False)])
@pytest.mark.parametrize("forms", [("e2m1", "e2m1"), ("e2m1", "e5m2"), ("e4m3", "e2m1")])
def test_bytes_of_two_lines(kernels: list[Any], forms: tuple[str, str], packs: Any) -> None:
    packs = tuple(pack or form != "e2m1" for pack, form in zip(packs, forms, strict=True))
    scaled_dots.run_random(forms, (32, 64, 64), "cpu", packs=packs)
    assert products(kernels[0]) == {expected_product(*forms, 64, packs)}


@pytest.mark.parametrize("scaled", ["a", "b", "ab"])
def test_fp8_scales_of_16_elements(kernels: list[Any], scaled: str) -> None:
    kind = torch.float8_e4m3fn
    forms = ("e2m1", "e2m1")
    scaled_dots.run_random(forms, (64, 32, 128), "cpu", scaled, group=16, kind=kind)
    assert products(kernels[0]) == {"m16n8k64 mxf4nvf4 4X f32.e2m1.e2m1.f32.ue4m3"}


@pytest.mark.parametrize(
    ("forms", "options", "wide"),
    [
        (("e4m3", "bf16"), {}, "bf16"), (("fp16", "e2m1"), {}, "f16"),
        (("e2m1", "e2m1"), {"group": 16}, "bf16"),
        (("e2m1", "e4m3"), {"group": 16, "kind": torch.float8_e4m3fn}, "bf16"),
        (("e2m1", "e2m1"), {"group": 16, "kind": torch.float8_e4m3fn, "packs": (False, True)},
         "bf16"),
    ],
)  # fmt: skip
def test_what_the_instructions_lack_is_widened(kernels: list[Any], forms: Any, options: Any,
                                               wide: str) -> None:  # fmt: skip
    tolerance = scaled_dots.tolerance_of(forms)
    scaled_dots.run_random(forms, (32, 32, 64), "cpu", tolerance=tolerance, **options)
    assert products(kernels[0]) == {f"m16n8k16   f32.{wide}.{wide}.f32"}


@pytest.mark.parametrize("out", [torch.float16, torch.bfloat16])
def test_out_dtype(kernels: list[Any], out: Any) -> None:
    tolerance = 2**-11 if out == torch.float16 else 2**-8  # half a unit in the last place
    forms = "e2m1", "e5m2"
    scaled_dots.run_random(forms, (16, 32, 32), "cpu", "abc", out=out, tolerance=tolerance)
    assert products(kernels[0]) == {expected_product(*forms, 32)}


@blockscope.jit
def products_of_one(a, scales, out, FAST: tl.constexpr):
    line, depth = tl.arange(0, 16), tl.arange(0, 32)
    x = tl.load(a + line[:, None] * 32 + depth[None, :])
    scale = tl.load(scales + line[:, None])
    c = tl.dot_scaled(x, scale, "e4m3", tl.trans(x), None, "e4m3", fast_math=FAST)
    tl.store(out + line[:, None] * 16 + line[None, :], c)


@pytest.mark.parametrize("fast", [False, True])
def test_scales_at_the_ends(kernels: list[Any], fast: bool) -> None:
    """A byte of 0 is 2^-127, where the widened operand would be 0; 255 is NaN always."""
    a = torch.zeros((16, 32)).to(torch.float8_e4m3fn)
    a[:, 0] = 8
    scales = torch.tensor([0, 1, 2, 127, 128, 247, 248, 255] * 2, dtype=torch.uint8)
    out = torch.zeros((16, 16))
    products_of_one[(1,)](a, scales, out, fast)
    powers = np.exp2(scales.numpy().astype(np.float64) - 127)
    column = np.where(scales.numpy() == 255, np.nan, powers * 64).astype(np.float32)
    np.testing.assert_array_equal(out.numpy(), np.repeat(column[:, None], 16, axis=1))
    assert products(kernels[0]) == {expected_product("e4m3", "e4m3", 32)}


@blockscope.jit
def batched(a, s, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch, m, n = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N)
    k, packed, group = tl.arange(0, K), tl.arange(0, K // 2), tl.arange(0, K // 32)
    rows = batch[:, None, None] * M + m[None, :, None]
    x = tl.load(a + rows * (K // 2) + packed[None, None, :])
    scale = tl.load(s + rows * (K // 32) + group[None, None, :])
    y = tl.load(b + (batch[:, None, None] * K + k[None, :, None]) * N + n[None, None, :])
    c = tl.dot_scaled(x, scale, "e2m1", y, None, "e4m3")
    tl.store(out + rows * N + n[None, None, :], c)


@pytest.mark.parametrize(("batches", "warps"), [(2, 4), (4, 2)])
def test_batches(kernels: list[Any], batches: int, warps: int) -> None:
    random = np.random.default_rng(3)
    a, left = scaled_dots.random_operand("e2m1", (batches * 32, 64), 1, random)
    b, right = scaled_dots.random_operand("e4m3", (batches * 64, 16), 0, random)
    scale = torch.from_numpy(random.integers(121, 133, (batches * 32, 2))).to(torch.uint8)
    out = torch.zeros((batches, 32, 16))
    batched[(1,)](a, scale, b, out, B=batches, M=32, N=16, K=64, num_warps=warps)
    left = (left * scaled_dots.along_k(scale, 32)).reshape(batches, 32, 64)
    expected = left @ right.reshape(batches, 64, 16)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-5)
    assert products(kernels[0]) == {expected_product("e2m1", "e4m3", 64)}


# -- loops -----------------------------------------------------------------------------------------


@blockscope.jit
def gemm(
    a, sa, b, sb, out, M, N, K, a_row, b_row, sa_row, sb_row,
    A: tl.constexpr, B: tl.constexpr, TURNED: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    of_m, of_n = (m < M)[:, None], (n < N)[:, None]
    ka, kb, group = tl.arange(0, BK // A_PACK), tl.arange(0, BK // B_PACK), tl.arange(0, BK // 32)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a_mask = of_m & (k // A_PACK + ka < K // A_PACK)[None, :]
        x = tl.load(a + m[:, None] * a_row + k // A_PACK + ka[None, :], a_mask, 0)
        if TURNED:  # [K, N] in memory
            at = (k // B_PACK + kb)[:, None] * b_row + n[None, :]
            y = tl.load(b + at, (k // B_PACK + kb < K // B_PACK)[:, None] & (n < N)[None, :], 0)
        else:
            b_mask = of_n & (k // B_PACK + kb < K // B_PACK)[None, :]
            y = tl.load(b + n[:, None] * b_row + k // B_PACK + kb[None, :], b_mask, 0).T
        s_mask = (k // 32 + group < K // 32)[None, :]
        s = tl.load(sa + m[:, None] * sa_row + k // 32 + group[None, :], of_m & s_mask, 127)
        t = tl.load(sb + n[:, None] * sb_row + k // 32 + group[None, :], of_n & s_mask, 127)
        sums = tl.dot_scaled(x, s, A, y, t, B, sums)
    tl.store(out + m[:, None] * N + n[None, :], sums, of_m & (n < N)[None, :])


def gemm_arguments(forms: Any, size: tuple[int, int, int], turned: bool) -> list[Any]:
    """Few digits, so that every sum is exact."""
    random = np.random.default_rng(sum(size))
    m, n, k = size

    def operand(form: str, lines: int) -> Any:
        if form == "e2m1":
            return torch.from_numpy(random.integers(0, 256, (lines, k // 2)).astype(np.uint8))
        return torch.from_numpy(random.integers(-4, 5, (lines, k)) / 2).to(scaled_dots.KINDS[form])

    def scales(lines: int) -> Any:
        return torch.from_numpy(random.integers(126, 129, (lines, k // 32)).astype(np.uint8))

    a, b = operand(forms[0], m), operand(forms[1], n)
    if turned:
        b = b.T.contiguous()
    sa, sb = scales(m), scales(n)
    out = torch.full((m, n), 1e30)
    strides = [x.stride(0) for x in (a, b, sa, sb)]
    return [a, sa, b, sb, out, m, n, k, *strides, *forms, turned]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("size", "tile", "warps", "stages"),
    [
        ((128, 128, 512), (64, 64, 128), 4, 3), ((64, 64, 256), (64, 64, 64), 2, 4),
        ((100, 80, 224), (64, 32, 64), 4, 3), ((128, 128, 512), (128, 128, 128), 8, 2),
        ((128, 128, 256), (128, 128, 128), 4, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("forms", [("e4m3", "e5m2"), ("e2m1", "e2m1"), ("e4m3", "e2m1")])
def test_loops_give_the_bits_of_the_cpu(
    monkeypatch: pytest.MonkeyPatch, forms: Any, size: Any, tile: Any, warps: int, stages: int,
    turned: bool,
) -> None:  # fmt: skip
    grid = (-(-size[0] // tile[0]), -(-size[1] // tile[1]))
    ours, machines = (gemm_arguments(forms, size, turned) for _ in range(2))
    gemm[grid](*ours, *tile)
    kernels = machine_backend.record(monkeypatch, "sm_120a")
    gemm[grid](*machines, *tile, num_warps=warps, num_stages=stages)
    assert torch.equal(ours[4], machines[4])
    assert (ours[4] < 1e30).all()
    assert products(kernels[0]) == {expected_product(*forms, tile[2])}
    if stages > 1 and not turned:
        assert "cp.async" in kernels[0].asm["ptx"]


@blockscope.jit
def described(
    a, sa, b, sb, c, M, N, K, A: tl.constexpr, B: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Scales lie in memory as cuBLAS has them: 512 bytes for 128 rows and 4 groups."""
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    M_TILES: tl.constexpr = BM // 128
    N_TILES: tl.constexpr = BN // 128
    K_TILES: tl.constexpr = BK // 128
    of_a = tl.make_tensor_descriptor(a, [M, K // A_PACK], [K // A_PACK, 1], [BM, BK // A_PACK])
    of_b = tl.make_tensor_descriptor(b, [N, K // B_PACK], [K // B_PACK, 1], [BN, BK // B_PACK])
    row = K // 128 * 512
    of_sa = tl.make_tensor_descriptor(
        sa, [1, M // 128, K // 128, 2, 256], [M // 128 * row, row, 512, 256, 1],
        [1, M_TILES, K_TILES, 2, 256],
    )  # fmt: skip
    of_sb = tl.make_tensor_descriptor(
        sb, [1, N // 128, K // 128, 2, 256], [N // 128 * row, row, 512, 256, 1],
        [1, N_TILES, K_TILES, 2, 256],
    )  # fmt: skip
    m, n = tl.program_id(0), tl.program_id(1)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(K // BK):
        x = of_a.load([m * BM, k * (BK // A_PACK)])
        y = of_b.load([n * BN, k * (BK // B_PACK)])
        s = of_sa.load([0, m * M_TILES, k * K_TILES, 0, 0])
        t = of_sb.load([0, n * N_TILES, k * K_TILES, 0, 0])
        s = s.reshape(M_TILES, K_TILES, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(BM, BK // 32)
        t = t.reshape(N_TILES, K_TILES, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(BN, BK // 32)
        sums = tl.dot_scaled(x, s, A, y.T, t, B, sums)
    of_c = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    of_c.store([m * BM, n * BN], sums)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("forms", [("e4m3", "e4m3"), ("e2m1", "e2m1"), ("e2m1", "e5m2")])
def test_descriptors_and_turned_scales(
    monkeypatch: pytest.MonkeyPatch, forms: Any, warps: int
) -> None:
    def arguments() -> list[Any]:
        a, sa, b, sb, out, *_ = gemm_arguments(forms, (256, 128, 512), False)
        return [a, sa, b, sb, out, 256, 128, 512, *forms, 128, 128, 128]

    ours, machines = arguments(), arguments()
    described[(2, 1)](*ours)
    kernels = machine_backend.record(monkeypatch, "sm_120a")
    described[(2, 1)](*machines, num_warps=warps)
    assert torch.equal(ours[4], machines[4])
    assert (ours[4] < 1e30).all()
    (kernel,) = kernels
    assert products(kernel) == {expected_product(*forms, 128)}
    assert kernel.asm["plan"].count("TMA") == 4
    # The scales go from the ring to where instructions take them.
    assert not re.search(r"convert_layout.*xi8", kernel.asm["ttgir"])


@pytest.mark.parametrize("arch", ["sm_120a", "sm_121a"])
@pytest.mark.parametrize("forms", PAIRS)
def test_assembles(forms: tuple[str, str], arch: str) -> None:
    taken = gemm_arguments(forms, (128, 128, 256), False)
    kernel = gemm.warmup(*taken, 64, 128, 128, grid=(1,), arch=arch)
    assert kernel.warnings == [] and kernel.n_spills == 0
    assert products(kernel) == {expected_product(*forms, 128)}


@blockscope.jit
def unmasked(
    a, sa, b, sb, out, K, N, row, sa_row, sb_row, A: tl.constexpr, B: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m, n, depth, group = (
        tl.arange(0, BM),
        tl.arange(0, BN),
        tl.arange(0, BK),
        tl.arange(0, BK // 32),
    )
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + m[:, None] * row + k + depth[None, :])
        y = tl.load(b + n[None, :] * row + k + depth[:, None])
        s = tl.load(sa + m[:, None] * sa_row + k // 32 + group[None, :])
        t = tl.load(sb + n[:, None] * sb_row + k // 32 + group[None, :])
        sums = tl.dot_scaled(x, s, A, y, t, B, sums)
    tl.store(out + m[:, None] * N + n[None, :], sums)


@pytest.mark.parametrize("warps", [4, 8])
def test_scales_are_copied_as_operands_are(warps: int) -> None:
    """Also where a thread would have fewer than the 4 bytes that a copy takes. Three buffers of
    128 x 128 x 128 fit beside them."""
    taken = gemm_arguments(("e4m3", "e4m3"), (128, 128, 512), False)
    kernel = unmasked.warmup(*taken[:5], 512, 128, 512, 16, 16, *taken[12:14], 128, 128, 128,
                             grid=(1,), arch="sm_120a", num_warps=warps)  # fmt: skip
    assert re.findall(r"load '(\w+)'.*: (cp\.async|\S+)", kernel.asm["plan"]) == [
        (name, "cp.async") for name in ("x", "y", "s", "t")
    ]
    assert "ring: 3 buffers" in kernel.asm["plan"]
    assert kernel.n_spills == 0
