"""fyf-spec's answers to LeetGPU's tasks, with pointers to blocks."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("fyf-spec/LeetGPU_solutions", "ccdd4aed287ff5ef8bb7875c449ad02e61e91855")


@repository.case("26_prefix_sum/prefix_sum_triton.py", "_local_prefix_sum_kernel, _add_block_offsets_kernel", small=dict(n=5000), production=dict(n=1 << 24), rtol=1e-4, atol=2e-2)  # fmt: skip
def running_sums(file, device, n):
    """Blocks, then the sums of blocks in the same way."""
    x = tm.normal(n, device=device)

    def run():
        out = torch.empty_like(x)
        file._prefix_sum(x, out, n)
        return out

    return run, lambda: x.double().cumsum(0)


@repository.case("30_Cross_Entropy_Loss/cross_entropy_loss_triton.py", "_cross_entropy_rows_kernel, _mean_loss_kernel", small=dict(n=50, c=700), production=dict(n=16384, c=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def cross_entropy(file, device, n, c):
    """Of one block of classes: from there on it would stay at the first one."""
    x, labels = tm.normal(n, c, device=device, scale=2.0), tm.integers(0, c, n, device=device)

    def run():
        loss = torch.empty(1, device=device)
        file.solve(x, labels, loss, n, c)
        return loss[0]

    return run, lambda: torch.nn.functional.cross_entropy(x.double(), labels)


@repository.case("35_INT8_Matmul/int8_matmul_triton.py", "_int8_matmul_kernel", small=dict(m=50, n=70, k=100), production=dict(m=4096, n=4096, k=4096), rtol=0, atol=1)  # fmt: skip
def product_int8(file, device, m, n, k):
    """All three have a point that stands for zero; where a half is rounded may differ by one."""
    a, b = (tm.integers(-128, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (k, n)))
    scales, zeros = (0.1, 0.2, 0.02 * 3000 * k**0.5 / 60), (3, -5, 7)

    def run():
        c = torch.empty(m, n, dtype=torch.int8, device=device)
        file.solve(a, b, c, m, n, k, *scales, *zeros)
        return c

    def want():
        y = (a.double() - zeros[0]) @ (b.double() - zeros[1]) * (scales[0] * scales[1] / scales[2])
        return (y.round() + zeros[2]).clamp(-128, 127)

    return run, want


@repository.case("69_LoRA_Linear/lora_linear_triton.py", "_lora_down_kernel, _lora_linear_kernel", small=dict(m=50, d_in=100, d_out=90, rank=10), production=dict(m=2048, d_in=4096, d_out=4096, rank=64), rtol=1e-4, atol=1e-4)  # fmt: skip
def lora(file, device, m, d_in, d_out, rank):
    """Products of float32, each of three of tf32."""
    x = tm.normal(m, d_in, device=device)
    w, a, b = (
        tm.normal(*shape, device=device, scale=shape[1] ** -0.5)
        for shape in ((d_out, d_in), (rank, d_in), (d_out, rank))
    )

    def run():
        out = torch.empty(m, d_out, device=device)
        file.solve(x, w, a, b, out, m, d_in, d_out, rank, 2.0)
        return out

    def want():
        y = x.double()
        return y @ w.double().T + 2 * (y @ a.double().T @ b.double().T)

    return run, want


@repository.case("22_softmax_attention/softmax_attention_triton.py", "fwd_kernel_triton", small=dict(m=50, n=100, d=40), production=dict(m=8192, n=4096, d=64), rtol=1e-4, atol=1e-4)  # fmt: skip
def attention(file, device, m, n, d):
    """Of one head, in float32 all the way."""
    q, k, v = (tm.normal(rows, d, device=device) for rows in (m, n, n))

    def run():
        out = torch.empty(m, d, device=device)
        file.solve(q, k, v, out, m, n, d)
        return out

    return run, lambda: tm.attention(q[None], k[None], v[None])[0][0]
