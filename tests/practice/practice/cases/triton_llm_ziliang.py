"""ziliangpeng's triton-llm: the parts of Llama, which take addresses and cast them to pointers:
here they get tensors."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "ziliangpeng/triton-llm",
    "2317ee7b12d1c9dc22b3d657006f1e7fc280091e",
    stand_ins={"triton_llm": {"gpu": None}},
)
FOLDER = "triton_llm/kernels/"


@repository.case(FOLDER + "attention_gqa.py", "_gqa_attention_kernel", small=dict(heads=4, kv_heads=2, n=40, keys=150, d=32), production=dict(heads=32, kv_heads=8, n=512, keys=2048, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def attention(file, device, heads, kv_heads, n, keys, d):
    """A program for each query; the last one sees all of the keys."""
    q = tm.normal(heads, n, d, device=device)
    k, v = (tm.normal(kv_heads, keys, d, device=device) for _ in range(2))

    def run():
        out = torch.empty_like(q)
        file._gqa_attention_kernel[(n, heads)](
            q, k, v, out, n, keys, d, d, d, d, heads, kv_heads, d**-0.5,
            GROUP_SIZE=heads // kv_heads, HEAD_SIZE=d, BLOCK_SIZE=64, CAUSAL=True,
        )  # fmt: skip
        return out

    return run, lambda: tm.attention(q, k, v, causal=True)[0]


@repository.case(FOLDER + "rope.py", "_rope_kernel", small=dict(heads=3, n=20, d=48), production=dict(heads=64, n=8192, d=128))  # fmt: skip
def rope(file, device, heads, n, d):
    """In place, behind 10 earlier tokens."""
    x = tm.normal(heads, n, d, device=device)
    angles = tm.normal(n + 10, d // 2, device=device)
    cos, sin = angles.cos(), angles.sin()

    def run():
        out = x.clone()
        block = 1 << (d // 2 - 1).bit_length()
        file._rope_kernel[(heads * n,)](out, cos, sin, heads * n, n, d, 10, d, block)
        return out

    return run, lambda: tm.rotated(x, cos[10:], sin[10:])


@repository.case(FOLDER + "gemm.py", "_gemm_kernel", small=dict(m=70, n=100, k=90), production=dict(m=2048, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def product(file, device, m, n, k):
    """In float32: tensor cores round it to tf32."""
    a, b = (tm.normal(*shape, device=device, scale=k**-0.25) for shape in ((m, k), (k, n)))

    def run():
        c = torch.empty(m, n, device=device)
        file._gemm_kernel[(-(-m // 64), -(-n // 64))](
            a, b, c, m, n, k, k, 1, n, 1, n, 1, 64, 64, 32
        )
        return c

    return run, lambda: a.double() @ b.double()
