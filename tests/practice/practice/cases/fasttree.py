"""FastTree: decoding of requests whose prefixes are shared as in a tree."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("PanZaifeng/FastTree-Artifact", "167928b56513d8ac4ae4948da70b9f6ef07d8f5f")


@repository.case("kernel_bench/fasttree.py", "_fwd_fasttree_decode_stage1, _fwd_fasttree_decoding_stage2", small=dict(groups=2, each=3, root=200, shared=60, own=30, hq=4, hk=2, d=64), production=dict(groups=8, each=8, root=4096, shared=1024, own=256, hq=32, hk=8, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def decode(file, device, groups, each, root, shared, own, hq, hk, d):
    b = groups * each
    nodes = [SimpleNamespace(parent=-1, seqlen=root, requests=list(range(b)), num_children=groups)]
    for i in range(groups):
        requests = list(range(i * each, (i + 1) * each))
        nodes.append(SimpleNamespace(parent=0, seqlen=shared, requests=requests, num_children=each))
    for i in range(b):
        nodes.append(
            SimpleNamespace(parent=1 + i // each, seqlen=own, requests=[i], num_children=0)
        )
    places = torch.tensor([0, *(node.seqlen for node in nodes)]).cumsum(0).tolist()
    q = tm.normal(b, hq, d, device=device, dtype=torch.float16)
    k, v = (tm.normal(places[-1], hk, d, device=device, dtype=torch.float16) for _ in range(2))

    def run():
        params = file.FastTreeParams()
        params.set_kv_group_num(hq // hk)
        plan, _ = file.fasttree_preparation(
            nodes, places, b, hq, hk, d, [1024, 128], [132, 528], [132, 132], params
        )
        out = torch.empty_like(q)
        file.fasttree_decode(q, k, v, out, *plan, params.TSQs, params.TSKs, d**-0.5)
        return out

    def want():
        outs = []
        for i in range(b):
            path = 0, 1 + i // each, 1 + groups + i
            rows = torch.cat([torch.arange(places[p], places[p + 1]) for p in path]).to(device)
            keys, values = (x[rows].transpose(0, 1) for x in (k, v))
            outs.append(tm.attention(q[i][:, None], keys, values)[0][:, 0])
        return torch.stack(outs)

    return run, want
