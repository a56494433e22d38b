"""Mixture of experts: every token is multiplied by the matrices of its chosen experts.

The (token, choice) pairs are sorted by expert, and each expert's list is padded to whole blocks;
a program takes one block of pairs (all of one expert), gathers their rows, and scatters weighted
results by pair.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def moe_kernel(
    x_ptr, w_ptr, out_ptr, gate_ptr, pair_ptr, expert_ptr, n, k, pairs,
    TOP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    expert = tl.load(expert_ptr + block)
    pair = tl.load(pair_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M))
    real = pair < pairs  # padding has the index `pairs`
    token = pair // TOP
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    w_ptr += expert.to(tl.int64) * k * n
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        steps = start + tl.arange(0, BLOCK_K)
        x_mask = real[:, None] & (steps[None, :] < k)
        w_mask = (steps[:, None] < k) & (columns[None, :] < n)
        x = tl.load(x_ptr + token[:, None] * k + steps[None, :], mask=x_mask, other=0.0)
        w = tl.load(w_ptr + steps[:, None] * n + columns[None, :], mask=w_mask, other=0.0)
        total = tl.dot(x, w, total)
    gate = tl.load(gate_ptr + pair, mask=real, other=0.0)
    total *= gate[:, None]
    out = out_ptr + pair[:, None] * n + columns[None, :]
    tl.store(out, total, mask=real[:, None] & (columns[None, :] < n))


def sort_by_expert(choice, experts, block):
    """Pairs in expert order, every expert padded to whole blocks; and the expert of each block."""
    flat = choice.reshape(-1)
    lists, owner = [], []
    for expert in range(experts):
        mine = torch.nonzero(flat == expert).reshape(-1).to(torch.int32)
        blocks = triton.cdiv(len(mine), block)
        padding = torch.full(
            (blocks * block - len(mine),), flat.numel(), dtype=torch.int32, device=flat.device
        )
        lists += [mine, padding]
        owner += [expert] * blocks
    return torch.cat(lists), torch.tensor(owner, dtype=torch.int32, device=flat.device)


def moe_matmul(x, w, gate, choice, block=16):
    (_, k), (experts, _, n), top = x.shape, w.shape, choice.shape[1]
    pair, owner = sort_by_expert(choice, experts, block)
    out = torch.empty((choice.numel(), n), dtype=torch.float32, device=x.device)
    moe_kernel[(len(owner), triton.cdiv(n, 64))](
        x,
        w,
        out,
        gate,
        pair,
        owner,
        n,
        k,
        choice.numel(),
        TOP=top,
        BLOCK_M=block,
        BLOCK_N=64,
        BLOCK_K=32,
    )
    return out.reshape(len(x), top, n).sum(dim=1)


if __name__ == "__main__":
    options = arguments("mixture-of-experts product", 50, "tokens")
    report = Report("moe_matmul", options)
    tokens, experts, n, k, top = options.size, 6, 100, 72, 2
    x, w = (
        torch.randn(tokens, k, device=DEVICE).half(),
        torch.randn(experts, k, n, device=DEVICE).half(),
    )
    gate, choice = torch.softmax(torch.randn(tokens, experts, device=DEVICE), dim=1).topk(
        top, dim=1
    )
    gate = gate.contiguous()
    products = torch.einsum("tk,tckn->tcn", x.double(), w.double()[choice])
    want = (products * gate.double()[:, :, None]).sum(dim=1)
    report.check("moe", moe_matmul(x, w, gate, choice), want, 1e-5)
    report.finish()
