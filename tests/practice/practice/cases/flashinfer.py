"""flashinfer: merged attention states, norms, activations, persistent GEMM."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "flashinfer-ai/flashinfer",
    "fb28d7242b3506a2348265962041acc1fb56cca4",
    packages={"flashinfer": "."},
    stand_ins={
        "flashinfer.utils": {
            "get_compute_capability": torch.cuda.get_device_capability,
            "GPUArchitectureError": RuntimeError,
        }
    },
)
GEMMS = "flashinfer/triton/sm_constraint_gemm.py"


def _merged(values, logs):
    """Values (..., S, H, D) with base-2 logarithms (..., S, H) of their weights, merged over S."""
    weights = torch.softmax(logs.double() * torch.log(torch.tensor(2.0).double()), -2)
    merged = (values.double() * weights[..., None]).sum(-3)
    return merged, torch.logsumexp(logs.double() * 0.6931471805599453, -2) / 0.6931471805599453


@repository.case("flashinfer/triton/cascade.py", "merge_state_kernel", small=dict(n=5, h=2, d=64), production=dict(n=4096, h=32, d=128))  # fmt: skip
def merge_state(file, device, n, h, d):
    a, b = (tm.normal(n, h, d, device=device) for _ in range(2))
    s, t = (tm.normal(n, h, device=device, scale=4) for _ in range(2))
    return lambda: file.merge_state(a, s, b, t), lambda: _merged(
        torch.stack([a, b], 1), torch.stack([s, t], 1)
    )


@repository.case("flashinfer/triton/cascade.py", "merge_state_in_place_kernel", small=dict(n=5, h=2, d=64), production=dict(n=4096, h=32, d=128))  # fmt: skip
def merge_state_in_place(file, device, n, h, d):
    a, b = (tm.normal(n, h, d, device=device) for _ in range(2))
    s, t = (tm.normal(n, h, device=device, scale=4) for _ in range(2))
    mask = tm.integers(0, 2, n, device=device, dtype=torch.int32)

    def run():
        v, logs = a.clone(), s.clone()
        file.merge_state_in_place(v, logs, b, t, mask)
        return v, logs

    def want():
        v, logs = _merged(torch.stack([a, b], 1), torch.stack([s, t], 1))
        on = mask.bool()
        return torch.where(on[:, None, None], v, a.double()), torch.where(
            on[:, None], logs, s.double()
        )

    return run, want


@repository.case("flashinfer/triton/cascade.py", "merge_states_kernel", small=dict(n=3, s=4, h=2, d=64), production=dict(n=1024, s=8, h=32, d=128))  # fmt: skip
def merge_states(file, device, n, s, h, d):
    v, logs = tm.normal(n, s, h, d, device=device), tm.normal(n, s, h, device=device, scale=4)
    return lambda: file.merge_states(v, logs), lambda: _merged(v, logs)


@repository.case("flashinfer/triton/cascade.py", "variable_length_merge_states_kernel", small=dict(n=3, h=2, d=64), production=dict(n=1024, h=32, d=128))  # fmt: skip
def variable_length_merge_states(file, device, n, h, d):
    lengths = [1 + i % 4 for i in range(n)]
    indptr = tm.starts(lengths, device)
    v, logs = (
        tm.normal(sum(lengths), h, d, device=device),
        tm.normal(sum(lengths), h, device=device),
    )

    def want():
        parts = zip(v.split(lengths), logs.split(lengths), strict=True)
        merged = [_merged(a, b) for a, b in parts]
        return torch.stack([a for a, _ in merged]), torch.stack([b for _, b in merged])

    return lambda: file.variable_length_merge_states(v, logs, indptr), want


@repository.case("flashinfer/triton/activation.py", "silu_and_mul_kernel", small=dict(b=3, d=1500), production=dict(b=4096, d=14336), rtol=2e-2, atol=1e-3)  # fmt: skip
def silu_and_mul(file, device, b, d):
    x = tm.normal(b, 2 * d, device=device, dtype=torch.bfloat16)
    return lambda: file.silu_and_mul(x), lambda: tm.silu_mul(x)


@repository.case("flashinfer/triton/activation.py", "silu_and_mul_kernel, scale_and_clamp", small=dict(b=3, d=1500), production=dict(b=4096, d=14336), rtol=0.07, atol=2e-3)  # fmt: skip
def silu_and_mul_fp8(file, device, b, d):
    x = tm.fp8(b, 2 * d, device=device)
    scale, out = torch.tensor(0.5, device=device), torch.tensor(8.0, device=device)
    return (
        lambda: file.silu_and_mul(x, scale, out, torch.float8_e4m3fn),
        lambda: tm.silu_mul(x.float() * 0.5) * 8.0,
    )


@repository.case("flashinfer/triton/norm.py", "rms_norm_kernel", small=dict(b=3, n=1000), production=dict(b=4096, n=8192), rtol=2e-2, atol=1e-2)  # fmt: skip
def rms_norm(file, device, b, n):
    x, w = (
        tm.normal(b, n, device=device, dtype=torch.float16),
        tm.normal(n, device=device, dtype=torch.float16),
    )

    def run():
        out = torch.empty_like(x)
        file.rms_norm(x, w, out, 1e-6)
        return out

    return run, lambda: tm.rms_norm(x, w, 1e-6)


@repository.case("flashinfer/triton/norm.py", "rms_norm_kernel", small=dict(b=3, n=1000), production=dict(b=4096, n=8192), rtol=2e-2, atol=1e-2)  # fmt: skip
def rms_norm_add_residual(file, device, b, n):
    x, r = (tm.normal(b, n, device=device, dtype=torch.float16) for _ in range(2))
    w = tm.normal(n, device=device, dtype=torch.float16)

    def run():
        out, residual = x.clone(), r.clone()
        file.rms_norm_add_residual(out, residual, w, 1e-6)
        return out, residual

    def want():
        total = x.double() + r.double()
        return tm.rms_norm(total, w, 1e-6), total

    return run, want


@repository.case(GEMMS, "gemm_kernel", small=dict(m=70, n=130, k=200), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=0.1)  # fmt: skip
def gemm(file, device, m, n, k):
    a, b, c = _operands(device, m, n, k)
    return lambda: file.gemm(
        a, b.T, c.clone(), 0.5, 2.0
    ), lambda: a.double() @ b.double().T / 2 + 2 * c.double()


@repository.case(GEMMS, "gemm_kernel_persistent", small=dict(m=300, n=300, k=200, num_sms=2), production=dict(m=4096, n=4096, k=4096, num_sms=None), rtol=1e-2, atol=0.1)  # fmt: skip
def gemm_persistent(file, device, m, n, k, num_sms):
    a, b, c = _operands(device, m, n, k)
    return (
        lambda: file.gemm_persistent(a, b.T, c.clone(), 0.5, 2.0, num_sms=num_sms),
        lambda: a.double() @ b.double().T / 2 + 2 * c.double(),
    )


@repository.case(GEMMS, "gemm_kernel_descriptor_persistent", small=dict(m=300, n=304, k=200, num_sms=2, halves=True), production=dict(m=4096, n=4096, k=4096, num_sms=None, halves=False), rtol=1e-2, atol=0.1)  # fmt: skip
def gemm_descriptor_persistent(file, device, m, n, k, num_sms, halves):
    a, b, c = _operands(device, m, n, k)
    return (
        lambda: file.gemm_descriptor_persistent(
            a, b, c.clone(), 0.5, 2.0, num_sms=num_sms, EPILOGUE_SUBTILE=halves
        ),
        lambda: a.double() @ b.double().T / 2 + 2 * c.double(),
    )


def _operands(device, m, n, k):
    return (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, k), (n, k), (m, n)))


@repository.case("flashinfer/triton/page.py", "get_batch_indices_positions_kernel", small=dict(b=4, n=300), production=dict(b=256, n=4096), rtol=0, atol=0)  # fmt: skip
def batch_indices_positions(file, device, b, n):
    lengths = tm.lengths(b, n)
    indptr = tm.starts(lengths, device)
    seq = torch.tensor(
        [length + 7 * i for i, length in enumerate(lengths)], device=device, dtype=torch.int32
    )

    def run():
        batch, position = (
            torch.full((sum(lengths),), -1, device=device, dtype=torch.int32) for _ in range(2)
        )
        file.get_batch_indices_positions_kernel[(b,)](indptr, seq, batch, position, num_stages=2)
        return batch, position

    def want():
        batch = torch.cat([torch.full((length,), i) for i, length in enumerate(lengths)])
        place = torch.cat([torch.arange(length) + 7 * i for i, length in enumerate(lengths)])
        return batch, place

    return run, want


@repository.case("flashinfer/triton/gemm.py", "compute_sm90_group_gemm_args", small=dict(b=5), production=dict(b=256), rtol=0, atol=0)  # fmt: skip
def grouped_gemm_arguments(file, device, b):
    """Pointers are stored as addresses."""
    lengths = tm.lengths(b, 4 * b)
    indptr = tm.starts(lengths, device, torch.int64)
    x, w, y = (
        torch.zeros(n, device=device, dtype=torch.float16)
        for n in (sum(lengths) * 64, b * 64 * 32, sum(lengths) * 32)
    )
    order = torch.randperm(b).to(device)

    def run():
        problems = torch.zeros(b, 3, device=device, dtype=torch.int32)
        out = [torch.zeros(b, device=device, dtype=torch.int64) for _ in range(6)]
        file.compute_sm90_group_gemm_args[(b,)](
            problems, *out, x, w, y, indptr, order, 64, 32, True
        )
        return (problems, *out)

    def want():
        ones = torch.ones(b, dtype=torch.int64)
        start = indptr.cpu()[:-1]
        problems = torch.stack([torch.tensor(lengths), 32 * ones, 64 * ones], 1)
        places = (
            x.data_ptr() + start * 128,
            w.data_ptr() + order.cpu() * 4096,
            y.data_ptr() + start * 64,
        )
        return (problems, *places, 64 * ones, 64 * ones, 32 * ones)

    return run, want


@repository.case("flashinfer/triton/gemm.py", "compute_padding_mapping", small=dict(b=5), production=dict(b=64), rtol=0, atol=0)  # fmt: skip
def padding_mapping(file, device, b):
    lengths = tm.lengths(b, 4 * b)
    rows, padded = tm.starts(lengths, device), tm.starts([-(-n // 4) * 4 for n in lengths], device)

    def run():
        out = [torch.zeros(sum(lengths), device=device, dtype=torch.int32) for _ in range(2)]
        file.compute_padding_mapping[(b,)](rows, padded, *out)
        return out

    def want():
        places = [torch.arange(n) + p for n, p in zip(lengths, padded.tolist()[:-1], strict=True)]
        return torch.arange(sum(lengths)), torch.cat(places)

    return run, want
