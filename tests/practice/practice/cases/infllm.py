"""InfLLM: attention in two stages, over a window and what is outside of it, and scores of keys."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("thunlp/InfLLM", "12b70798f56e56ebb23c53c7018091a3f540a028", packages={"inf_llm": "."})  # fmt: skip


@repository.case("inf_llm/attention/dot_production_attention/triton_impl.py", "_attn_fwd, _attn_fwd_inner, _score_kernel", small=dict(h=2, hk=1, q=128, n=192, far=100, d=64, window=70), production=dict(h=32, hk=8, q=4096, n=8192, far=4096, d=128, window=4096), rtol=2e-2, atol=2e-2)  # fmt: skip
def two_stages(file, device, h, hk, q, n, far, d, window):
    x = tm.normal(1, h, q, d, device=device, dtype=torch.float16)
    near, away = (tm.normal(2, 1, hk, m, d, device=device, dtype=torch.float16) for m in (n, far))

    def run():
        attention = file.TritonMultiStageDotProductionAttention(x.shape, x.dtype, device)
        attention.append(x, *near, sliding_window=window)
        attention.append(x, *away, get_score=True, end=True)
        return attention.ret, attention.score_list[1]

    def want():
        rows = torch.arange(q, device=device)[:, None] + n - q
        columns = torch.arange(n, device=device)
        seen = (columns <= rows) & (columns > rows - window)
        bias = torch.zeros(q, n + far, device=device)
        bias[:, :n] = torch.where(seen, 0.0, -torch.inf)
        keys, values = torch.cat([near, away], 3)
        out, sums = tm.attention(x, keys, values, bias=bias)
        s = x.double() @ away[0].double().repeat_interleave(h // hk, 1).mT * d**-0.5
        return out, (s - sums[..., None]).exp().sum(2)

    return run, want
