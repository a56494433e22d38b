"""triton-training: lessons and submissions: attention to a paged cache by groups of query heads,
and the product along triangles of pairs, in three kernels."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("brianyu43/triton-training", "90d6d122173e5409c57e5ca9df69d841fd991d0d")
HALF = torch.float16


@repository.case("cuda-triton-lessons/triton_kernels/paged_attention.py", "paged_attention_split_kernel, paged_attention_reduce_kernel", small=dict(b=3, heads=8, kv=2, most=90, d=32, size=16, part=32), production=dict(b=16, heads=32, kv=4, most=8192, d=128, size=16, part=512), rtol=1e-2, atol=2e-3)  # fmt: skip
def attention_in_parts(file, device, b, heads, kv, most, d, size, part):
    lengths = tm.lengths(b, most)
    columns = -(-most // size)
    q = tm.normal(b, heads, d, device=device, dtype=HALF)
    k, v = (tm.normal(b * columns, size, kv, d, device=device, dtype=HALF) for _ in range(2))
    table = torch.randperm(b * columns).view(b, columns).to(torch.int32).to(device)
    ends = torch.tensor(lengths, dtype=torch.int32, device=device)

    def run():
        return file.triton_paged_attention_decode(
            q, k, v, table, ends, use_split_k=True, partition_size=part
        )

    def want():
        out = []
        for query, row, length in zip(q, table.long(), lengths, strict=True):
            keys, values = (x[row].flatten(0, 1)[:length].transpose(0, 1) for x in (k, v))
            out.append(tm.attention(query[:, None], keys, values)[0][:, 0])
        return torch.stack(out)

    return run, want


# Values between the kernels are in float16.
@repository.case("gpumode/trimul_a100/submissions/v10_hf_triton_a100.py", "fused_ln_dual_matmul_kernel, bmm_coalesced_kernel, fused_final_kernel", small=dict(b=1, s=20, d=48, h=32), production=dict(b=1, s=512, d=128, h=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def triangles(file, device, b, s, d, h):
    x = tm.normal(b, s, s, d, device=device)
    mask = (torch.rand(b, s, s) < 0.8).to(HALF).to(device)
    wide = mask.unsqueeze(-1).expand(-1, -1, -1, h).reshape(b * s * s, h).contiguous()
    norm, norm_bias = (tm.normal(d, device=device) for _ in range(2))
    out_norm, out_bias = (tm.normal(h, device=device, dtype=HALF) for _ in range(2))
    left, left_gate, right, right_gate, gate = (
        tm.normal(h, d, device=device, dtype=HALF, scale=d**-0.5) for _ in range(5)
    )
    to_out = tm.normal(d, h, device=device, dtype=HALF, scale=h**-0.5)
    names = "left_proj", "left_gate", "right_proj", "right_gate"
    weights = dict(zip(names, (left, left_gate, right, right_gate), strict=True))

    def run():
        return file.compiledtrimul_fused_interleaved_final(
            x, wide, norm, norm_bias,
            file.pack_w_4way_efficient({f"{k}.weight": w for k, w in weights.items()}),
            gate.T.contiguous(), out_norm, out_bias, to_out, h,
        )  # fmt: skip

    def want():
        y = tm.layer_norm(x, norm, norm_bias, 1e-5)
        a, a_gate, b, b_gate, g = (
            y @ w.double().T for w in (left, left_gate, right, right_gate, gate)
        )
        kept = mask.double()[..., None]
        a, b = a * a_gate.sigmoid() * kept, b * b_gate.sigmoid() * kept
        pairs = torch.einsum("nikh,njkh->nijh", a, b)
        return (tm.layer_norm(pairs, out_norm, out_bias, 1e-5) * g.sigmoid()) @ to_out.double().T

    return run, want
