"""vLLM for Ascend: sampling, penalties, norms, RoPE and GEMM that do not depend on the batch."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from practice import torch_math as tm
from practice.case import Repository

CORES = 6
repository = Repository(
    "vllm-project/vllm-ascend",
    "182b75ea84ff13ece27b57391331ef8935410aea",
    packages={"vllm_ascend": "."},
    stand_ins={
        "vllm.triton_utils": {"tl": tl, "triton": triton, "HAS_TRITON": True},
        "vllm.utils.math_utils": {"next_power_of_2": triton.next_power_of_2},
        "vllm_ascend.ops.triton.triton_utils": {
            "get_vectorcore_num": lambda: CORES,
            "get_aicore_num": lambda: CORES,
        },
        "vllm.utils.platform_utils": {"num_compute_units": lambda *_: CORES},
        "torch_npu": {},
    },
)
OPS, SAMPLE = "vllm_ascend/ops/triton/", "vllm_ascend/worker/v2/sample/"
VOCABULARY = dict(small=dict(m=5, n=3000), production=dict(m=512, n=152064))


@repository.case(SAMPLE + "min_p.py", "_min_p_kernel", **VOCABULARY)
def min_p(file, device, m, n):
    x, p = tm.normal(m, n, device=device, scale=3), torch.rand(m).to(device) * 0.3
    p[0] = 0
    order = torch.randperm(m).to(torch.int32).to(device)

    def run():
        y = x.clone()
        # The wrapper asks for an option of Ascend's compiler.
        file._min_p_kernel[(CORES,)](y, y, n, order, p, n, m, BLOCK_SIZE=1024)
        return y

    def want():
        mine = p[order.long()]
        return x.masked_fill(x < (x.amax(-1) + mine.log())[:, None], float("-inf"))

    return run, want


@repository.case(SAMPLE + "penalties.py", "_penalties_kernel", **VOCABULARY, rtol=1e-4, atol=1e-4)
def penalties(file, device, m, n):
    x = tm.normal(m, n, device=device)
    rows = torch.randperm(m).to(torch.int32).to(device)
    repetition, frequency, presence = (torch.rand(m).to(device) + 0.5 for _ in range(3))
    words = tm.integers(-(1 << 31), 1 << 31, m, -(-n // 32), device=device, dtype=torch.int32)
    counts = tm.integers(0, 3, m, n, device=device, dtype=torch.int32)
    zeros = torch.zeros(m, device=device, dtype=torch.int32)

    def run():
        y = x.clone()
        file.apply_penalties(y, rows, zeros, zeros, repetition, frequency, presence, words, counts)
        return y

    def want():
        r = rows.long()
        bits = (
            torch.stack([(words.long() >> i) & 1 for i in range(32)], -1).flatten(1)[:, :n].bool()
        )
        seen = counts[r] > 0
        scale = torch.where(bits[r] | seen, repetition[r][:, None], 1.0).double()
        y = torch.where(x > 0, x / scale, x * scale)
        return y - frequency[r][:, None] * counts[r] - presence[r][:, None] * seen

    return run, want


@repository.case(OPS + "muls_add.py", "muls_add_kernel", small=dict(m=7, n=300), production=dict(m=8192, n=8192), atol=1e-5)  # fmt: skip
def scaled_sum(file, device, m, n):
    x, y = (tm.normal(m, n, device=device) for _ in range(2))
    return lambda: file.muls_add_triton(x, y, 0.3), lambda: x.double() * 0.3 + y.double()


@repository.case(OPS + "batch_invariant/mean.py", "mean_kernel", small=dict(a=3, b=70, c=50), production=dict(a=64, b=4096, c=512), atol=1e-5)  # fmt: skip
def mean(file, device, a, b, c):
    x = tm.normal(a, b, c, device=device)
    return lambda: file.mean_dim(x, 1, dtype=torch.float32), lambda: x.double().mean(1)


GEMM = dict(
    small=dict(m=100, n=200, k=150), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=5e-2
)


@repository.case(OPS + "batch_invariant/matmul.py", "matmul_bias_persistent_kernel", **GEMM)
def matmul_bias(file, device, m, n, k):
    x, y, b = (tm.normal(*s, device=device, dtype=torch.bfloat16) for s in ((m, k), (k, n), (n,)))
    return lambda: file.matmul_persistent(x, y, b), lambda: x.double() @ y.double() + b.double()


@repository.case(OPS + "rope.py", "_triton_rope", small=dict(m=9, h=4, hk=2, d=64), production=dict(m=8192, h=32, hk=8, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def rope(file, device, m, h, hk, d):
    q, k = (tm.normal(m, x, d, device=device) for x in (h, hk))
    angles = torch.rand(m, d // 2) * 6
    cos, sin = torch.cos(angles).to(device), torch.sin(angles).to(device)

    def run():
        a, b = q.clone(), k.clone()
        return file.rope_forward_triton(a, b, cos, sin, rope_dim=d)

    return run, lambda: tuple(tm.rotated(x, cos[:, None], sin[:, None]) for x in (q, k))


# Written for cores without warps: it loads what other lanes have stored, with no barrier.
@repository.case(OPS + "v2/sample/apply_top_k_top_p_triton.py", "_topk_topp_kernel", small=dict(m=5, n=3000), production=dict(m=64, n=152064), rtol=0, atol=0, finds="race-warp-order")  # fmt: skip
def top_k_top_p(file, device, m, n):
    """A search for two pivots by bisection, in loops that end when they have found them."""
    x = tm.normal(m, n, device=device, scale=3)
    k = tm.integers(10, 200, m, device=device, dtype=torch.int32)
    p = torch.full((m,), 0.9).to(device)

    def want():
        values, order = x.double().sort(-1, descending=True)
        kept = torch.arange(n, device=device)[None] < k[:, None]
        probs = values.masked_fill(~kept, float("-inf")).softmax(-1)
        kept &= probs.cumsum(-1) - probs < p.double()[:, None]
        return torch.zeros(m, n, dtype=torch.bool, device=device).scatter(-1, order, kept)

    return lambda: file.apply_top_k_top_p_triton(x.clone(), k, p).isfinite(), want


@repository.case(OPS + "batch_memcpy.py", "batch_memcpy_kernel", small=dict(b=5, n=3000), production=dict(b=512, n=1 << 20), rtol=0, atol=0)  # fmt: skip
def copy_by_addresses(file, device, b, n):
    """Addresses of tensors, read from memory and made pointers."""
    lengths = tm.lengths(b, n)
    source = [tm.integers(0, 256, length, device=device, dtype=torch.uint8) for length in lengths]
    target = [torch.zeros_like(x) for x in source]
    numbers = [
        torch.tensor(x, device=device)
        for x in ([t.data_ptr() for t in source], [t.data_ptr() for t in target])
    ]
    sizes = torch.tensor(lengths, device=device, dtype=torch.int32)

    def run():
        file.batch_memcpy_kernel[(b,)](*numbers, sizes, BLOCK_SIZE=1024)
        return target

    return run, lambda: source


@repository.case(OPS + "spec_decode/utils.py", "prepare_inputs_padded_kernel", small=dict(b=20), production=dict(b=4096), rtol=0, atol=0)  # fmt: skip
def padded_inputs(file, device, b):
    drafts = [i % 4 for i in range(b)]
    valid = [1 + i % 3 for i in range(b)]
    tensors = [
        torch.tensor(x, device=device, dtype=torch.int32)
        for x in (torch.tensor(drafts).cumsum(0).tolist(), valid)
    ]
    places = tm.starts([d + 1 for d in drafts], device)

    def run():
        out = torch.full((b,), -1, device=device, dtype=torch.int32)
        rejected = torch.full((b,), -1, device=device, dtype=torch.int32)
        file.prepare_inputs_padded_kernel[(CORES,)](
            *tensors, places, out, rejected, b, BLOCK_SIZE=16
        )
        return out, rejected

    def want():
        drop = [d + 1 - v if d else 0 for d, v in zip(drafts, valid, strict=True)]
        last = [p - 1 - x for p, x in zip(places.tolist()[1:], drop, strict=True)]
        return torch.tensor(last), torch.tensor(drop)

    return run, want
