"""Flash-Sparse-Attention: scores of chosen blocks, from the blocks' side, and decoding."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Relaxed-System-Lab/Flash-Sparse-Attention",
    "1da34f35cb1884f4c35d3bfdf9e59ab6ae6e543a",
    packages={"fsa": ".", "fsa_preview": ".", "nsa_ref": "."},
)
BF16 = torch.bfloat16


def _chosen(device, hk, n, blocks, most):
    """Of each query its own block, the first one and some others, with -1 after them."""
    ids = torch.full((hk, n, most), -1, dtype=torch.int32)
    for h in range(hk):
        for i in range(n):
            own = i // 64
            others = torch.randperm(own)[: most - 2].tolist()
            row = sorted({0, own, *others})
            ids[h, i, : len(row)] = torch.tensor(row, dtype=torch.int32)
    return ids.to(device)


TOPK = "fsa/ops/FSA_topk_sparse_attention.py"


@repository.case(TOPK, "block_to_token_kernel, qk_kernel, fused_fill_kernel", small=dict(n=200, d=32, most=3), production=dict(n=16384, d=128, most=16), rtol=2e-2, atol=3e-2)  # fmt: skip
def maxima_of_blocks(file, device, n, d, most):
    """Which queries each block of keys has, and the most that each gives to the blocks so far."""
    q, k = (tm.normal(n, 1, d, device=device, dtype=BF16) for _ in range(2))
    blocks, ends = -(-n // 64), tm.starts([n], device)
    ids = _chosen(device, 1, n, blocks, most)

    def run():
        lists = torch.full((1, blocks, n), -1, dtype=torch.int32, device=device)
        file.build_block_to_token_triton(lists, ids, 0, blocks)
        kept, counts = lists.clone(), (lists >= 0).sum(-1).int()[0]
        start = torch.nn.functional.pad(counts.cumsum(0)[:-1], (1, 0))
        cells = torch.full((1, blocks, n), float("-inf"), device=device)
        rows = lists[lists != -1]
        most, last = file.online_softmax(
            q, k, cells, rows, counts, start, 0, n, 64, blocks, 1, d, d**-0.5, ends, ends
        )
        file.fused_fill(lists, cells)
        return kept, lists, most, last

    def want():
        rows = torch.arange(n, device=device)
        has = torch.zeros(n, blocks + 1, dtype=torch.bool, device=device)
        has.scatter_(1, torch.where(ids[0] < 0, blocks, ids[0]).long(), True)
        lists = torch.where(has[:, :blocks], rows[:, None], -1).T[None]
        s = q[:, 0].double() @ k[:, 0].double().T * d**-0.5 * 1.44269504
        s = s.masked_fill(rows > rows[:, None], float("-inf"))
        s = torch.nn.functional.pad(s, (0, blocks * 64 - n), value=float("-inf"))
        most = s.unflatten(1, (-1, 64)).amax(-1)
        most = most.masked_fill(~has[:, :blocks], float("-inf")).T[None].cummax(1)[0]
        return lists, torch.full_like(lists, -1), most, most[:, -1]

    return run, want


DECODE = "fsa_preview/ops/compressed_attention_decode.py"


@repository.case(DECODE, "forward_kernel_decode, score_kernel_decode", small=dict(n=300, h=4, d=32), production=dict(n=32768, h=32, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def decode(file, device, n, h, d):
    """One query; each key stands for 32 tokens, every 16 of them, and the last few come later."""
    q = tm.normal(1, h, d, device=device, dtype=BF16)
    k, v = (tm.normal(n, h, d, device=device, dtype=BF16) for _ in range(2))
    seen, scale = n - 10, d**-0.5
    ends = tm.starts([1], device), tm.starts([n], device)
    first = (seen - 1) * 16

    def run():
        place = 32, 16, *ends, 1, n, scale
        out, lse = file._compressed_attention_fwd_decode(q, k, v, *place, first)
        return out, file._get_attention_score_decode(q, k, lse, *place, first + 31)

    def want():
        heads = [x.double().transpose(0, 1) for x in (q, k[:seen], v[:seen])]
        p = (heads[0] @ heads[1].mT * scale).softmax(-1)
        return tm.attention(*heads)[0].transpose(0, 1), torch.nn.functional.pad(p, (0, 10))

    return run, want
