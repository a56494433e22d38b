"""Every row of op_cases on the GPU gives what the CPU gives: bit by bit, but for what is said here.

- NaNs are equal to each other, whatever their bits.
- Floating-point sums and products of many elements, in dots too, may be added up in
  another order: they differ by at most eps * sum(|x|) (`SUMS`), or by the row's own tolerance.
- Functions of mathematics differ by the ulps of `ULPS`, which add the CPU's error to the GPU's.
- Multiply and add stay two operations (enable_fp_fusion=False), as they are on the CPU.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from op_cases import CASES, OpCase, dtype_of
from op_cases.kernels import KERNELS

gpu_rows = pytest.importorskip("gpu_rows")
torch = pytest.importorskip("torch")

ROWS = {f"{case.name}-{dtype}": (case, dtype) for case in CASES for dtype in case.dtypes}

#: Rows whose result is a sum or a product of many elements.
SUMS = ("sum", "sum_rows", "sum_columns", "sum_keep", "sum_dtype", "reduce", "cumsum", "cumprod",
        "cumsum_reverse", "softmax", "softmax_axis")  # fmt: skip
#: Units in the last place, by what docs/numerics.md says of GPUs: approximate quotients and roots
#: 2, libdevice 1 or 2, the CPU's functions 2. exp is exp2 of a rounded product: for |x| <= 8 that
#: alone is 4.
ULPS = {"truediv": 3, "fdiv": 3, "fdiv_approx": 3, "sqrt": 3, "rsqrt": 4, "exp": 8, "exp2": 4,
        "log": 4, "log2": 4, "sin": 4, "cos": 4, "erf": 4, "sigmoid": 12,
        "softmax": 14, "softmax_axis": 14}  # fmt: skip
#: Relative errors. Hopper adds up products of fp8 with about 13 bits; `reduce` multiplies 128
#: numbers in another order than the CPU. Tensor cores cut off what tf32 lacks, the CPU rounds:
#: up to 2^-9 of a product, in sums of 32.
RTOL = {"dot_fp8": 2e-3, "reduce": 128 * 2.3e-16, "dot_tf32": 32 * 2**-10}

_TORCH = {
    "int1": torch.bool,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "fp8e5": torch.float8_e5m2,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}
OPTIONS = {"num_warps": 4, "enable_fp_fusion": False}


def on_gpu(array: np.ndarray, device: str) -> torch.Tensor:
    name = dtype_of(array)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy()
    return torch.from_numpy(data).to(device).view(_TORCH.get(name) or getattr(torch, name))


def on_cpu(tensor: torch.Tensor, like: np.ndarray) -> np.ndarray:
    return tensor.view(torch.uint8).cpu().numpy().view(like.dtype)[: like.size].reshape(like.shape)


def with_outputs(results: list[np.ndarray]) -> list[np.ndarray]:
    """Two outputs, as the kernels take them; a scalar result is one element."""
    outputs = [np.zeros(max(1, result.size), result.dtype) for result in results]
    return outputs + [np.zeros(1, np.int32) for _ in range(2 - len(outputs))]


def warm_up(name: str) -> tuple[list[str], BaseException | None]:
    case, dtype = ROWS[name]
    missing = gpu_rows.missing_ops(case, dtype)
    try:
        capability = torch.cuda.get_device_capability()
        gpu_rows.warm_up(case, dtype, arch=f"sm_{capability[0]}{capability[1]}", **OPTIONS)
    except Exception as error:
        return missing, error
    return missing, None


@pytest.fixture(scope="module")
def multiplied_as_on_the_cpu():
    """A GPU takes float32 in tf32 when the kernel does not say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_F32_DEFAULT", "ieee")
        yield


@pytest.fixture(scope="module")
def warmed(request: pytest.FixtureRequest, multiplied_as_on_the_cpu: None):
    """Compiles the chosen rows on threads, before and while they run: see gpu_rows."""
    chosen = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    keys = [(params["row"],) for params in chosen if params.get("row") in ROWS]
    with gpu_rows.pool(warm_up, keys) as futures:
        yield futures


def allowed_error(case: OpCase, inputs: list[np.ndarray], expected: np.ndarray) -> np.ndarray:
    """How far each element may be from the CPU's; 0 where the bits must be the same."""
    size = np.abs(np.where(np.isfinite(expected), expected, 0).astype(np.float64))
    eps = float(ml_dtypes.finfo(expected.dtype).eps)
    allowed = RTOL.get(case.name, case.rtol) * np.maximum(size, 1.0)
    if case.name in SUMS:
        magnitude = sum(float(np.nansum(np.abs(array.astype(np.float64)))) for array in inputs)
        allowed = np.maximum(allowed, eps * max(magnitude, float(size.max(initial=0))))
    if case.name in ULPS:
        allowed = ULPS[case.name] * eps * np.maximum(size, np.finfo(np.float32).tiny)
        if case.name in ("sin", "cos", "log", "log2"):  # near a zero of the function
            allowed = np.maximum(allowed, ULPS[case.name] * eps / 4)
    return allowed


def hold(case: OpCase, inputs: list[np.ndarray], found: np.ndarray, expected: np.ndarray) -> None:
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected)
        return
    wide, wanted = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(wide), np.isnan(wanted))
    allowed = allowed_error(case, inputs, expected)
    bits = f"u{expected.dtype.itemsize}"
    same = (found.view(bits) == expected.view(bits)) | np.isnan(wanted)
    with np.errstate(invalid="ignore"):
        wrong = ~(same | ((np.abs(wide - wanted) <= allowed) & (allowed > 0)))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        pytest.fail(
            f"{int(wrong.sum())} of {wrong.size} elements differ; first at {place}: "
            f"GPU {wide[place]!r}, CPU {wanted[place]!r}, allowed {allowed[place]:.3g}"
        )


def test_there_are_rows() -> None:
    assert len(ROWS) > 400


@pytest.mark.parametrize("row", ROWS)
def test_op(row: str, warmed, device: str) -> None:
    missing, error = warmed[row,].result()
    reason = gpu_rows.hold_to_gaps(missing, error)
    if reason is not None:
        pytest.xfail(reason)
    case, dtype = ROWS[row]
    inputs, results = gpu_rows.operands(case, dtype)
    kernel, constants = KERNELS[len(inputs)], gpu_rows.constants(case, inputs)
    outputs = with_outputs(results)
    flat = [np.ascontiguousarray(array).reshape(-1) for array in inputs]
    kernel[(1,)](*flat, *outputs, **constants, **OPTIONS)
    tensors = [on_gpu(array, device) for array in (*inputs, *with_outputs(results))]
    compiled = kernel[(1,)](*tensors, **constants, **OPTIONS)
    assert compiled.target.backend == "cuda"
    for tensor, output in zip(tensors[len(inputs) :], outputs):
        hold(case, inputs, on_cpu(tensor, output), output)
