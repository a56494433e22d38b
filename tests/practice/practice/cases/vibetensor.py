"""VibeTensor: the largest of each row, sampling, cross entropy, and products with the transpose."""

from __future__ import annotations

import os
from unittest import mock

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "NVlabs/vibetensor",
    "fe85461faca02ba95d7bf1f8289002ff8cf91652",
    packages={"vibe_kernels": "."},
    stand_ins={
        "vibe_kernels.sampling.cute_topk": {},
        "vibetensor": {"_C": None},
        "vibetensor._C": {},
    },
)
FOLDER = "vibe_kernels/"


def _largest(file, device, how, b, v, k):
    logits = tm.normal(b, v, device=device)

    def run():
        with mock.patch.dict(os.environ, AIKF_TOPK_IMPL=how):
            return file._select_topk(logits, k)

    return run, lambda: tuple(logits.topk(k))


@repository.case(FOLDER + "sampling/kernel.py", "_topk_stage1_kernel, _topk_stage2_tiles_kernel", rtol=0, atol=0, small=dict(b=3, v=1000, k=5), production=dict(b=256, v=128256, k=20))  # fmt: skip
def largest_by_chunks(file, device, b, v, k):
    return _largest(file, device, "stream", b, v, k)


@repository.case(FOLDER + "sampling/kernel.py", "_streaming_topk_kernel", rtol=0, atol=0, small=dict(b=3, v=500, k=5), production=dict(b=2048, v=8192, k=8))  # fmt: skip
def largest_of_a_stream(file, device, b, v, k):
    return _largest(file, device, "streaming", b, v, k)


# A sum decides where a number falls between two tokens.
@repository.case(FOLDER + "sampling/kernel.py", "_sample_from_logits_multi", rtol=0, atol=0, share=1e-2, small=dict(b=5, v=700, count=3), production=dict(b=512, v=32768, count=4))  # fmt: skip
def samples(file, device, b, v, count):
    logits = tm.normal(b, v, device=device, scale=3.0)
    numbers = torch.rand(b, count).to(device)
    names = torch.stack([torch.randperm(v) for _ in range(b)]).to(torch.int32).to(device)

    def run():
        out = torch.empty(b, count, dtype=torch.int32, device=device)
        file._sample_from_logits_multi[(b,)](
            out, logits, names, numbers, b, v, count,
            logits.stride(0), names.stride(0), out.stride(0), numbers.stride(0),
            HAS_INDICES=True, BLOCK_SIZE=1024, MAX_SAMPLES=4,
        )  # fmt: skip
        return out

    def want():
        sums = logits.double().softmax(-1).cumsum(-1)
        places = torch.searchsorted(sums, numbers.double()).clamp(max=v - 1)
        return names.gather(1, places)

    return run, want


# The programs load the one element of a label that another thread of theirs has stored.
@repository.case(FOLDER + "loss/impl/triton_impl.py", "_cross_entropy_forward, _cross_entropy_backward", rtol=1e-4, atol=1e-5, finds="race-warp-order", small=dict(n=20, v=700), production=dict(n=4096, v=32000))  # fmt: skip
def cross_entropy(file, device, n, v):
    logits = tm.normal(n, v, device=device)
    labels = tm.integers(0, v, n, device=device, dtype=torch.int32)
    labels[::7] = -1
    up = torch.rand(n).to(device)

    def run():
        sums, taken = (torch.empty(n, device=device) for _ in range(2))
        file._cross_entropy_forward[(n,)](
            logits, labels, sums, taken, n, v, v, IGNORE_INDEX=-1, BLOCK_SIZE=128
        )
        grad = torch.empty_like(logits)
        file._cross_entropy_backward[(n,)](
            grad, logits, labels, up, sums, taken, n, v, v,
            LOGITS_IS_FP16=False, LOGITS_IS_BF16=False, BLOCK_SIZE=128,
        )  # fmt: skip
        return sums, taken, grad

    def want():
        x, taken = logits.double(), labels >= 0
        grad = x.softmax(-1)
        grad = grad - F.one_hot(labels.long().clamp(min=0), v)
        return x.logsumexp(-1), taken, grad * (up * taken)[:, None]

    return run, want


@repository.case(FOLDER + "optim/impl/triton_impl.py", "kernel", rtol=2e-2, atol=2e-1, small=dict(m=150, n=100), production=dict(m=4096, n=4096))  # fmt: skip
def gram(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16)

    def run():
        out = torch.empty(m, m, dtype=x.dtype, device=device)
        file.matmul_transpose_assign(x, out)
        return out

    return run, lambda: x.double() @ x.double().T


@repository.case(FOLDER + "gemm/impl/triton_impl.py", "_kernel", rtol=2e-2, atol=2e-1, small=dict(m=70, n=100, k=150), production=dict(m=4096, n=4096, k=4096))  # fmt: skip
def gradients_of_a_product(file, device, m, n, k):
    up, x, weight = (
        tm.normal(*s, device=device, dtype=torch.bfloat16) for s in ((m, n), (m, k), (k, n))
    )
    return (
        lambda: file.triton_gemm_backward(up, x, weight)[:2],
        lambda: (up.double() @ weight.double().T, x.double().T @ up.double()),
    )


@repository.case(FOLDER + "embedding/kernel.py", "_embedding_rmsnorm_fwd, _embedding_rmsnorm_bwd", rtol=1e-4, atol=1e-4, small=dict(n=50, vocab=30, d=100), production=dict(n=16384, vocab=32000, d=2048))  # fmt: skip
def normed_embedding(file, device, n, vocab, d):
    """Without a weight, whose gradient the file sums over the wrong axis."""
    table, up = (tm.normal(s, d, device=device) for s in (vocab, n))
    ids = tm.integers(0, vocab, n, device=device, dtype=torch.int32)
    block = 1 << (d - 1).bit_length()

    def run():
        out, scales = torch.empty_like(up), torch.empty(n, device=device)
        file._embedding_rmsnorm_fwd[(n,)](
            out, d, scales, table, d, table, ids, d, 1e-5, HAS_GAMMA=False, BLOCK_SIZE=block
        )
        grad = torch.zeros_like(table)
        file._embedding_rmsnorm_bwd[(n,)](
            grad, d, grad, up, d, table, d, scales, table, ids, d,
            HAS_GAMMA=False, BLOCK_SIZE=block,
        )  # fmt: skip
        return out, grad

    def exact(table):
        return tm.rms_norm(table[ids.long()], None, 1e-5)

    return run, lambda: tm.with_gradients(exact, up, table, exact=True)
