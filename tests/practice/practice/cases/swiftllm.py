"""swiftLLM: a small server's kernels over blocks of keys and values, in fp16 and in place."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "interestingLSY/swiftLLM", "682cf9a28f97f7490409981a2f181528f377eb5d", packages={"swiftllm": "."},
    stand_ins={"swiftllm.model_config": {}, "swiftllm.engine_config": {}, "swiftllm.worker.infer_state": {}},
)  # fmt: skip
FOLDER = "swiftllm/worker/kernels/"
FP16 = torch.float16
HALF = dict(rtol=1e-2, atol=1e-2)
BLOCK = 16


@repository.case(FOLDER + "rmsnorm.py", "_fwd_rmsnorm", small=dict(m=7, n=256), production=dict(m=8192, n=4096), **HALF)  # fmt: skip
def rms_norm(file, device, m, n):
    x, w = (tm.normal(*s, device=device, dtype=FP16) for s in ((m, n), (n,)))

    def run():
        y = x.clone()
        file.rmsnorm_inplace(y, w, 1e-5)
        return y

    return run, lambda: tm.rms_norm(x, w, 1e-5)


@repository.case(FOLDER + "rmsnorm.py", "_fwd_fused_add_rmsnorm", small=dict(m=7, n=256), production=dict(m=8192, n=4096), **HALF)  # fmt: skip
def add_and_rms_norm(file, device, m, n):
    x, r, w = (tm.normal(*s, device=device, dtype=FP16) for s in ((m, n), (m, n), (n,)))

    def run():
        y, residual = x.clone(), r.clone()
        file.fused_add_rmsnorm_inplace(y, residual, w, 1e-5)
        return y, residual

    return run, lambda: (tm.rms_norm((x + r).double(), w, 1e-5), x.double() + r.double())


@repository.case(FOLDER + "rotary_emb.py", "_fwd_rotary_embedding", small=dict(m=5, h=4, hk=2, d=32), production=dict(m=8192, h=32, hk=8, d=128), **HALF)  # fmt: skip
def rope(file, device, m, h, hk, d):
    q, k = (tm.normal(m, heads, d, device=device, dtype=FP16) for heads in (h, hk))
    angles = torch.rand(m, d // 2) * 6
    cos, sin = (f(angles).to(FP16).to(device) for f in (torch.cos, torch.sin))

    def run():
        a, b = q.clone(), k.clone()
        file.rotary_embedding_inplace(a, b, SimpleNamespace(position_cos=cos, position_sin=sin))
        return a, b

    return run, lambda: [tm.rotated(x, cos[:, None], sin[:, None]) for x in (q, k)]


@repository.case(FOLDER + "silu_and_mul.py", "_fwd_silu_and_mul", small=dict(m=5, n=512), production=dict(m=8192, n=14336), **HALF)  # fmt: skip
def silu_and_mul(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=FP16)

    def run():
        y = x.clone()
        file.silu_and_mul_inplace(y)
        return y[:, :n]

    return run, lambda: torch.nn.functional.silu(x[:, n:].double()) * x[:, :n].double()


def _sequences(lengths, device):
    starts = tm.starts(lengths, device)
    return torch.tensor(lengths, dtype=torch.int32, device=device), starts


def _cache(lengths, hk, d, layers, device):
    """Empty blocks, and the table of those of each sequence, in any order."""
    most = -(-max(lengths) // BLOCK) + 1
    table = torch.randperm(len(lengths) * most).view(-1, most).to(torch.int32).to(device)
    caches = [tm.normal(len(lengths) * most, layers, hk, BLOCK, d, device=device, dtype=FP16) for _ in range(2)]  # fmt: skip
    return caches, table


@repository.case(FOLDER + "prefill_attn.py", "_fwd_prefill_attention", small=dict(b=2, n=150, h=4, hk=2, d=64), production=dict(b=4, n=4096, h=32, hk=8, d=128), **HALF)  # fmt: skip
def prefill_attention(file, device, b, n, h, hk, d):
    lengths = tm.lengths(b, n)
    lens, starts = _sequences(lengths, device)
    q, k, v = (tm.normal(sum(lengths), heads, d, device=device, dtype=FP16) for heads in (h, hk, hk))  # fmt: skip
    state = SimpleNamespace(
        max_prefill_len=n, softmax_scale=d**-0.5, num_prefill_seqs=b,
        prefill_seq_start_locs=starts, prefill_seq_lens=lens,
    )  # fmt: skip
    model = SimpleNamespace(num_q_heads=h, num_kv_heads=hk, head_dim=d)

    def run():
        o = torch.empty_like(q)
        file.prefill_attention(q, k, v, o, model, None, state)
        return o

    def want():
        parts = []
        for begin, length in zip(starts.tolist(), lengths, strict=False):
            a = [x[begin : begin + length].transpose(0, 1) for x in (q, k, v)]
            parts.append(tm.attention(*a, causal=True)[0].transpose(0, 1))
        return torch.cat(parts)

    return run, want


@repository.case(FOLDER + "paged_attn.py", "_fwd_paged_attention_phase1, _fwd_paged_attention_phase2", small=dict(b=3, n=150, h=4, hk=2, d=64, part=64), production=dict(b=32, n=4096, h=32, hk=8, d=128, part=512), **HALF)  # fmt: skip
def paged_attention(file, device, b, n, h, hk, d, part):
    lengths = tm.lengths(b, n)
    (k, v), table = _cache(lengths, hk, d, 2, device)
    q = tm.normal(b, h, d, device=device, dtype=FP16)
    lens, _ = _sequences(lengths, device)
    state = SimpleNamespace(
        num_decoding_seqs=b, num_prefill_seqs=0, seq_block_size=part, num_seq_blocks=-(-n // part),
        softmax_scale=d**-0.5, decoding_seq_lens=lens,
        seq_ids=torch.arange(b, dtype=torch.int32, device=device),
    )  # fmt: skip
    model = SimpleNamespace(num_layers=2, num_q_heads=h, num_kv_heads=hk, head_dim=d)
    engine = SimpleNamespace(block_size=BLOCK, max_blocks_per_seq=table.shape[1])

    def run():
        o = torch.empty_like(q)
        file.paged_attention(q, k, v, table, model, engine, state, 1, o)
        return o

    def want():
        rows = []
        for i, length in enumerate(lengths):
            a, c = (x[table[i].long(), 1].transpose(0, 1).flatten(1, 2)[:, :length] for x in (k, v))
            rows.append(tm.attention(q[i][:, None], a, c)[0][:, 0])
        return torch.stack(rows)

    return run, want


for _name in ("prefill", "decoding"):

    @repository.case(FOLDER + "kvcache_mgmt.py", f"_fwd_kvcache_mgmt_{_name}_kernel", small=dict(b=3, n=50, hk=2, d=32), production=dict(b=16, n=2048, hk=8, d=128) if _name == "prefill" else dict(b=2048, n=64, hk=8, d=128), name=f"store_keys_{_name}", rtol=0, atol=0)  # fmt: skip
    def store_keys(file, device, b, n, hk, d, prefill=_name == "prefill"):
        lengths = tm.lengths(b, n)
        caches, table = _cache(lengths, hk, d, 1, device)
        lens, starts = _sequences(lengths, device)
        k, v = (tm.normal(sum(lengths) if prefill else b, hk, d, device=device, dtype=FP16) for _ in range(2))  # fmt: skip
        state = SimpleNamespace(
            seq_ids=torch.arange(b, dtype=torch.int32, device=device), max_prefill_len=n,
            num_prefill_seqs=b if prefill else 0, num_decoding_seqs=0 if prefill else b,
            decoding_seq_lens=lens, num_prefill_tokens=len(k) if prefill else 0,
            prefill_seq_start_locs=starts, prefill_seq_lens=lens,
        )  # fmt: skip
        model = SimpleNamespace(num_layers=1, num_kv_heads=hk, head_dim=d)
        engine = SimpleNamespace(block_size=BLOCK, max_blocks_per_seq=table.shape[1])
        copies = [x.clone() for x in caches]

        def run():
            file.store_kvcache(k, v, *copies, table, model, engine, state, 0)
            return copies

        def want():
            results = []
            for cache, new in zip(caches, (k, v), strict=True):
                flat = cache[:, 0].transpose(1, 2).double()  # block, place, head, d
                for i, length in enumerate(lengths):
                    at = torch.arange(0 if prefill else length - 1, length, device=device)
                    begin = int(starts[i]) if prefill else i
                    flat[table[i].long()[at // BLOCK], at % BLOCK] = new[begin : begin + len(at)].double()  # fmt: skip
                results.append(flat.transpose(1, 2)[:, None])
            return results

        return run, want


@repository.case(FOLDER + "block_mgmt.py", "_fwd_set_block_table_and_num_seq_alloc_blocks_kernel, _fwd_gather_allocated_blocks_and_unset_kernel", small=dict(b=5, most=7), production=dict(b=4096, most=256), rtol=0, atol=0)  # fmt: skip
def blocks_of_sequences(file, device, b, most):
    needed = torch.tensor(tm.lengths(b, most - 1, 0), dtype=torch.int32, device=device)
    total = int(needed.sum())
    blocks = torch.randperm(total).to(torch.int32).to(device)
    ids = torch.randperm(b).to(device)

    def run():
        table = torch.full((b, most), -1, dtype=torch.int32, device=device)
        count = torch.zeros(b, dtype=torch.int32, device=device)
        free = torch.zeros(total, dtype=torch.bool, device=device)
        file.set_block_table_and_num_seq_alloc_blocks(count, table, blocks, ids, needed)
        gathered = file.gather_allocated_blocks_and_unset(count, table, ids, free)
        return table, count, gathered, free

    def want():
        table = torch.full((b, most), -1, dtype=torch.int32, device=device)
        parts = blocks.split(needed.tolist())
        for i, part in zip(ids.tolist(), parts, strict=True):
            table[i, : len(part)] = part
        return table, torch.zeros(b), blocks, torch.ones(total)

    return run, want
