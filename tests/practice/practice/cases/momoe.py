"""MoMoE: a mixture of experts whose backward pass makes again what the forward pass did not keep."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("tilde-research/MoMoE-impl", "d6e2d683185bfe4030265c3ca062564356faa61e", stand_ins={"einops": {}})  # fmt: skip
FILE = "momoe/momoe.py"
SIZES = dict(small=dict(m=70, d=64, h=32, n=4, k=2), production=dict(m=8192, d=1024, h=512, n=16, k=4))  # fmt: skip
BF16 = torch.bfloat16


class _Inputs:
    """Weights of experts, tokens, and which experts each token has."""

    def __init__(self, device, m, d, h, n, k):
        self.k = k
        self.x, self.dy = (tm.normal(m, d, device=device, dtype=BF16) for _ in range(2))
        self.up = tm.normal(n, d, 2 * h, device=device, dtype=BF16, scale=d**-0.5)
        self.down = tm.normal(n, h, d, device=device, dtype=BF16, scale=h**-0.5)
        weights, ids = tm.topk_ids(m, n, k, "cpu")
        self.mask = torch.zeros(n, m, dtype=torch.int32).scatter_(0, ids.T, 1).to(device)
        self.s = torch.zeros(n, m).scatter_(0, ids.T, weights.T).to(device)
        counts = self.mask.sum(1)
        self.starts = tm.starts(counts.tolist(), device)
        pairs = self.mask.cpu().nonzero()
        self.expert, self.token = pairs[:, 0].to(device), pairs[:, 1].to(torch.int32).to(device)
        self.which = (self.mask.cumsum(0) - 1)[self.expert, self.token.long()].to(torch.int32)

    def forward(self, saved=0):
        """The inputs' gates and halves in float64, in the order of pairs."""
        x = self.x.double()[self.token.long()]
        z = torch.empty(len(x), self.up.shape[2], dtype=torch.float64, device=x.device)
        for e in range(len(self.up)):
            rows = self.expert == e
            z[rows] = x[rows] @ self.up[e].double()
        a, b = z.chunk(2, -1)
        return x, a, b, a * torch.nn.functional.silu(b)

    def down_of(self, h, weights):
        y = torch.empty(len(h), weights.shape[2], dtype=torch.float64, device=h.device)
        for e in range(len(weights)):
            rows = self.expert == e
            y[rows] = h[rows] @ weights[e].double()
        return y


def _tokens(m, pairs, token):
    return pairs.new_zeros(m, pairs.shape[1]).index_add(0, token.long(), pairs)


@repository.case(FILE, "scatter_cols_kernel", small=dict(m=300, n=6, k=2), production=dict(m=1 << 17, n=64, k=8))  # fmt: skip
def used_experts(file, device, m, n, k):
    _, ids = tm.topk_ids(m, n, k, "cpu")
    mask = torch.zeros(n, m, dtype=torch.int32).scatter_(0, ids.T, 1).to(device)

    def run():
        starts, tokens, counts, which = file.find_used_experts(mask, k)
        seen = which.new_zeros(m, k).index_put_(
            (tokens.long(), which.long()), which.new_ones(m * k)
        )
        return starts, tokens, counts, seen

    def want():
        counts = mask.sum(1)
        starts = tm.starts(counts.tolist(), device)
        return starts, mask.nonzero()[:, 1], counts, torch.ones(m, k)

    return run, want


@repository.case(FILE, "lin1_kernel, lin2_kernel", rtol=2e-2, atol=5e-2, **SIZES)
def forward(file, device, m, d, h, n, k):
    i = _Inputs(device, m, d, h, n, k)

    def run():
        return file.apply_experts(i.x, i.s, i.token, i.which, i.starts, i.up, i.down, k, 0)[0]

    def want():
        pairs = i.down_of(i.forward()[3], i.down)
        return _tokens(m, pairs * i.s.double()[i.expert, i.token.long()][:, None], i.token)

    return run, want


@repository.case(FILE, "making_nice_scatter_kernel, swiglu_backward_kernel, weights_update_kernel", rtol=3e-2, atol=0.1, share=1e-3, **SIZES)  # fmt: skip
def down_gradient(file, device, m, d, h, n, k):
    i = _Inputs(device, m, d, h, n, k)
    saved = [torch.empty(0, w, device=device, dtype=BF16) for w in (h, h)]

    def run():
        d_down, dz, x, hidden = file.lin2_and_swiglu_backward(
            i.dy, i.x, *saved, i.up, i.down, i.token, i.starts, i.s.T, 0
        )
        return d_down, dz, x, hidden

    def want():
        x, a, b, hidden = i.forward()
        dy = i.dy.double()[i.token.long()] * i.s.double()[i.expert, i.token.long()][:, None]
        dh, part = i.down_of(dy, i.down.transpose(1, 2)), b.sigmoid()
        dz = torch.cat([dh * b * part, dh * a * part * (1 + b * (1 - part))], -1)
        d_down = torch.stack([hidden[i.expert == e].T @ dy[i.expert == e] for e in range(n)])
        return d_down, dz, x, hidden

    return run, want


@repository.case(FILE, "lin1_backward_kernel, weights_update_kernel", rtol=3e-2, atol=0.1, share=1e-3, **SIZES)  # fmt: skip
def up_gradient(file, device, m, d, h, n, k):
    i = _Inputs(device, m, d, h, n, k)
    pairs = len(i.token)
    x, hidden = i.x[i.token.long()], tm.normal(pairs, h, device=device, dtype=BF16)
    dz, saved = tm.normal(pairs, 2 * h, device=device, dtype=BF16), torch.empty(0, d, device=device, dtype=BF16)  # fmt: skip

    def run():
        return file.lin1_backward(
            x, saved, dz, i.up, i.down, hidden, i.token, i.which, i.starts, i.dy, k, 0
        )

    def want():
        d_up = torch.stack([x[i.expert == e].double().T @ dz[i.expert == e].double() for e in range(n)])  # fmt: skip
        dots = (i.down_of(hidden.double(), i.down) * i.dy.double()[i.token.long()]).sum(-1)
        ds = i.s.double().new_zeros(n, m).index_put((i.expert, i.token.long()), dots)
        return d_up, ds, _tokens(m, i.down_of(dz.double(), i.up.transpose(1, 2)), i.token)

    return run, want
