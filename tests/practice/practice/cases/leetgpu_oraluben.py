"""LeetGPU of oraluben: hashes, a transposition, attention in three kernels, a product by TMA."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("oraluben/LeetGPU", "dfeed573876968c34e14bd3367aa570e8858b860")


@repository.case("09-rainbow-table/Triton/native.py", "fnv1a_hash_kernel", small=dict(n=1500, rounds=5), production=dict(n=1 << 25, rounds=20))  # fmt: skip
def rainbow_table(file, device, n, rounds):
    x = tm.integers(0, 1 << 31, n, device=device, dtype=torch.int32)

    def run():
        out = torch.empty_like(x)
        file.solve(x, out, n, rounds)
        return out

    def want():
        value = x.long()
        for _ in range(rounds):
            hashed = torch.full_like(value, 2166136261)
            for byte in range(4):
                hashed = (hashed ^ (value >> 8 * byte & 255)) * 16777619 & 0xFFFFFFFF
            value = hashed
        return value.to(torch.int32)

    return run, want


@repository.case("03-matrix-transpose/Triton/peak_performance.py", "matrix_transpose_kernel", small=dict(m=70, n=45), production=dict(m=8192, n=6000))  # fmt: skip
def transpose(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def run():
        out = torch.empty(n, m, device=device)
        file.solve(x, out, m, n)
        return out

    return run, lambda: x.T


@repository.case("32-multi-head-self-attention/Triton/native.py", "qkt_kernel, softmax_kernel, matrix_multiplication_kernel", small=dict(n=128, d=128, h=2), production=dict(n=4096, d=1024, h=16), rtol=1e-4, atol=1e-4)  # fmt: skip
def attention(file, device, n, d, h):
    q, k, v = (tm.normal(n, d, device=device) for _ in range(3))

    def run():
        # What ``solve`` does, but for the two buffers that it has of cudaMalloc.
        out, scores, p = torch.empty_like(q), *(torch.empty(h, n, n, device=device) for _ in range(2))  # fmt: skip
        c, blocks, block = d // h, -(-n // 64), 1 << (n - 1).bit_length()
        file.qkt_kernel[h, blocks, blocks](q, k, scores, c**-0.5, n, n, c, h, c, 1, c, 1, n, 1, 64, 64, 64)  # fmt: skip
        file.softmax_kernel[(-(-h * n // (131072 // block)),)](scores, p, n, h, BLOCK_SIZE=block)
        file.matrix_multiplication_kernel[h, blocks, -(-c // 64)](p, v, out, n, n, c, h, 64, 64, 64)
        return out

    def want():
        heads = (x.view(n, h, -1).transpose(0, 1) for x in (q, k, v))
        return tm.attention(*heads)[0].transpose(0, 1).flatten(1)

    return run, want


@repository.case("02-matrix-multiplication/Triton/use_tma.py", "matmul_kernel_make_tensor_desciptor", small=dict(m=64, n=96, k=96), production=dict(m=2048, n=2048, k=2048), rtol=1e-4, atol=1e-4)  # fmt: skip
def product(file, device, m, n, k):
    a, b = tm.normal(m, k, device=device), tm.normal(k, n, device=device, scale=k**-0.5)

    def run():
        # What ``solve`` does, but for the memory of the descriptors that it has of cudaMalloc.
        file.triton.set_allocator(lambda size, *_: torch.empty(size, dtype=torch.int8, device=device))  # fmt: skip
        out = torch.empty(m, n, device=device)
        grid = (-(-m // 32) * -(-n // 32),)
        file.matmul_kernel_make_tensor_desciptor[grid](a, b, out, m, n, k, 32, 32, 32)
        return out

    return run, lambda: a.double() @ b.double()
