"""Pinterest's TransAct: a whole transformer block in one kernel, and scores of candidates against
the actions of the user that each belongs to."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("pinterest/atg-research", "4cd0d60676803bbb1ded4897df94d459e663674e")
FOLDER = "transformer_user_action/transactv2_code/"
HALF = torch.float16


@repository.case(
    FOLDER + "skut.py",
    "skut_fwd",
    rtol=2e-2,
    atol=3e-2,
    share=1e-3,
    small=dict(b=2, s=128),
    production=dict(b=512, s=256),
)
def transformer_block(file, device, b, s):
    block = file.SKUTBlock(64, 32).requires_grad_(False).to(device)
    x = tm.normal(b, s, 64, device=device)
    causal = torch.full((s, s), float("-inf")).triu(1).to(device)
    padding = torch.zeros(b, s)
    padding[::2, s - s // 4 :] = float("-inf")
    padding = padding.to(device)

    def want():
        q, k, v, w1, w2 = (w.double() for w in (block.q, block.k, block.v, block.w1, block.w2))
        rows = x.double()
        bias = causal.double() + padding.double()[:, None]
        y = rows + tm.attention(rows @ q, rows @ k, rows @ v, bias=bias)[0]
        y = F.layer_norm(y, (64,))
        return F.layer_norm(y + F.relu(y @ w1) @ w2, (64,))

    return (
        lambda: block(x, causal_mask=causal, key_padding_mask=padding, use_slow=False),
        want,
    )


@repository.case(
    FOLDER + "sparse_nn.py",
    "sparse_nn",
    rtol=2e-3,
    atol=2e-1,
    small=dict(users=3, s=48, d=32, n=7, block=512),
    production=dict(users=64, s=16000, d=32, n=512, block=4096),
)
def scores_of_candidates(file, device, users, s, d, n, block):
    """The first user has no candidate."""
    actions = tm.integers(-128, 128, users, s, d, device=device, dtype=torch.int8)
    candidates = tm.normal(n, d, device=device, dtype=HALF)
    cuts = torch.randint(0, n + 1, (users - 2,)).sort().values
    begin = torch.cat([torch.tensor([0, 0]), cuts, torch.tensor([n])]).to(torch.int32).to(device)

    def run():
        out = torch.empty(n, s, dtype=HALF, device=device)
        grid = users, -(-s * d // block)
        file.sparse_nn[grid](actions, begin, candidates, out, s * d, s, D=d, BLOCK_SIZE=block)
        return out

    def want():
        user = torch.repeat_interleave(torch.arange(users, device=device), begin.diff().long())
        return torch.stack(
            [actions[u].double() @ c.double() for u, c in zip(user, candidates, strict=True)]
        )

    return run, want
