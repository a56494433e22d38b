"""native-sparse-attention: each query's own block of keys, and blocks that it has chosen."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "lucidrains/native-sparse-attention-pytorch",
    "83fa271c21a0db35ef10d38d1d50aba8a09d3c69",
    packages={"native_sparse_attention_pytorch": "."},
    stand_ins={
        "einx": {},
        "einops": {},
        "native_sparse_attention_pytorch.tensor_typing": {},
        "importlib.metadata": {"version": lambda _: "3.6.0"},
        "packaging.version": {"parse": lambda text: text},
    },
)
FILE = "native_sparse_attention_pytorch/triton_native_sparse_attention.py"


def _case(block, groups, backward):
    def build(file, device, b, h, s, d, chosen):
        dtype = torch.float16
        q, up = (tm.normal(b, h * groups, s, d, device=device, dtype=dtype) for _ in range(2))
        k, v = (tm.normal(b, h, s, d, device=device, dtype=dtype) for _ in range(2))
        before = torch.arange(s) // block
        ids = torch.rand(b, h, s, s // block)
        ids = ids.masked_fill(torch.arange(s // block) >= before[:, None], -1).argsort(-1, descending=True)  # fmt: skip
        ids, mask = ids[..., :chosen], torch.arange(chosen) < before[:, None]
        mask = mask.expand(b, h, s, chosen).contiguous()
        arguments = ids.contiguous().to(device), mask.to(device)

        def right(q, k, v):
            seen = torch.zeros(b, h, s, s // block + 1, dtype=torch.bool)
            seen.scatter_(3, torch.where(mask, ids, s // block), True)
            seen = seen[..., :-1].repeat_interleave(block, -1)
            i = torch.arange(s)
            seen |= (i[None] <= i[:, None]) & (i[None] // block == i[:, None] // block)
            x = q @ k.repeat_interleave(groups, 1).transpose(-1, -2) * d**-0.5
            x = x.masked_fill(~seen.repeat_interleave(groups, 1).to(device), float("-inf"))
            return x.softmax(-1) @ v.repeat_interleave(groups, 1)

        def function(q, k, v):
            return file.NSA.apply(q, k, v, block, *arguments, None, True, False, False)[0]

        inputs = q, k, v
        if not backward:
            return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))
        return (
            lambda: tm.with_gradients(function, up, *inputs),
            lambda: tm.with_gradients(right, up.double(), *inputs, exact=True),
        )

    kernels = "forward_kernel, forward_kernel_causal_and_sparse"
    if backward:
        kernels += ", backward_preprocess_do_o_dot, backward_kernel, backward_kernel_one_col_block_sparse, backward_kernel_one_col_block_causal"  # fmt: skip
    repository.case(FILE, kernels, rtol=2e-2, atol=6e-2 if backward else 2e-2, name=f"blocks_{block}_groups_{groups}" + "_gradient" * backward, small=dict(b=1, h=2, s=128, d=32, chosen=2), production=dict(b=2, h=4, s=2048, d=64, chosen=4))(build)  # fmt: skip


_case(32, 4, False)
_case(64, 1, False)
_case(32, 4, True)
