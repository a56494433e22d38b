"""PainlessInferenceAcceleration (flood): tables of drafts, their check, and sampling."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("alipay/PainlessInferenceAcceleration", "78c9b002749f86a2dc601af3d02c5eaf6cc91507", packages={"flood": "flood"}, stand_ins={"flood_cuda": {}})  # fmt: skip
OPS = "flood/flood/ops/"


@repository.case(f"{OPS}draft.py", "update_draft_table_kernel", small=dict(n=30, size=64), production=dict(n=32, size=1 << 16))  # fmt: skip
def update_table(file, device, n, size):
    """One program's worth of tokens: others change the same rows at the same time."""
    tokens = torch.randint(1, 4, (n,)).tolist()

    def run():
        freq, table = torch.zeros(size, device=device), torch.zeros(size, 8, dtype=torch.int32, device=device)  # fmt: skip
        file.update_draft_table(tokens, freq, table, table_size=size, vocab=100)
        return freq, table

    def want():
        freq, table = [0.0] * size, [[0] * 8 for _ in range(size)]
        padded = tokens + [0] * 6
        for i in range(n - 3):
            at = (padded[i] * 100 + padded[i + 1]) % (size - 8)
            row = [padded[k] if k < n else 0 for k in range(i + 2, i + 10)]
            hit = False
            for j in range(at, at + 8):
                if not hit and sum(row) == sum(table[j]):
                    freq[j], hit = freq[j] + 1, True
                elif not hit and freq[j] == 0:
                    freq[j], table[j], hit = 1.0, row, True
            missed = not hit
            for j in range(at, at + 8):
                if missed and freq[j] / 2 < 1:
                    freq[j], table[j] = 1.0, row
                else:
                    freq[j] /= 2
        return torch.tensor(freq), torch.tensor(table)

    return run, want


@repository.case(f"{OPS}draft.py", "retrieve_draft_table_kernel", small=dict(m=5, size=64), production=dict(m=512, size=1 << 16))  # fmt: skip
def retrieve(file, device, m, size):
    freq = torch.randint(0, 9, (size,)).float().to(device)
    table = tm.integers(1, 100, size, 8, device=device, dtype=torch.int32)
    tokens = torch.randint(1, 100, (m, 2)).tolist()

    def want():
        out = torch.zeros(m, 33, dtype=torch.int32)
        for b, (p, q) in enumerate(tokens):
            out[b, 0] = q
            at = (p * 128256 + q) % (size - 8)
            near, rows = freq[at : at + 8].cpu(), table[at : at + 8].cpu()
            for least in [2.0 ** (6 - i) for i in range(8)] + [0.5]:
                chosen = rows[near >= least][:4]
                if len(chosen) >= 4:
                    break
            out[b, 1 : 1 + 8 * len(chosen)] = chosen.flatten()
        return out[:, :-1]

    return lambda: file.retrieve_draft_table(tokens, freq, table, table_size=size, retrieve_count=4)[0], want  # fmt: skip


@repository.case(f"{OPS}draft.py", "update_draft_cache_kernel", small=dict(n=9, d=300), production=dict(n=512, d=8192))  # fmt: skip
def move_rows(file, device, n, d):
    cache = tm.normal(4 * n, d, device=device)
    source, target = torch.randperm(4 * n)[: 2 * n].to(device).split(n)
    source = torch.where(torch.rand(n).to(device) < 0.3, -1, source)

    def run():
        after = cache.clone()
        file.update_draft_cache(after, source, target)
        return after

    def want():
        after = cache.clone()
        after[target[source >= 0]] = cache[source[source >= 0]]
        return after

    return run, want


@repository.case(f"{OPS}draft.py", "update_draft_fix_size_cache_kernel", small=dict(b=2, h=3, d=32, length=4), production=dict(b=64, h=16, d=128, length=8), rtol=1e-4, atol=1e-4)  # fmt: skip
def decayed_states(file, device, b, h, d, length):
    cache = tm.normal(b, h * d * d, device=device)
    slots = torch.randperm(b).to(torch.int32).to(device)
    k, v = (tm.normal(b * length, h, d, device=device) for _ in range(2))
    taken = torch.full((b, length), -1, dtype=torch.int32)
    for i in range(b):
        taken[i, : i % length] = torch.arange(1, 1 + i % length)
    taken, decay = taken.to(device), (torch.rand(h) * 0.3).to(device)

    def run():
        after = cache.clone()
        file.update_draft_fix_size_cache(after, slots, k, v, taken, decay)
        return after

    def want():
        after = cache.double().view(b, h, d, d).clone()
        for i in range(b):
            count = int((taken[i] >= 0).sum())
            state = after[slots[i]] * (-decay.double() * (count + 1)).exp()[:, None, None]
            for j in range(count + 1):
                row = i * length + (int(taken[i, j - 1]) if j else 0)
                outer = k[row].double()[:, :, None] * v[row].double()[:, None]
                state = state + outer * (-decay.double() * (count - j)).exp()[:, None, None]
            after[slots[i]] = state
        return after.view(b, -1)

    return run, want


@repository.case(f"{OPS}draft.py", "verify_draft_kernel", small=dict(b=5, count=3, length=4), production=dict(b=256, count=8, length=8))  # fmt: skip
def verify(file, device, b, count, length):
    given, after = (tm.integers(0, 2, b * count * length, device=device) for _ in range(2))
    offsets = tm.integers(0, 1000, b, device=device)

    def want():
        tiles = []
        for x in (given, after):
            x, tile = x.cpu().view(b, count, length), torch.full((b, count, length + 1), -1)
            tile[:, :, 0], tile[:, :, 1:-1], tile[:, :-1, -1] = x[:, :1, 0], x[:, :, 1:], x[:, 1:, 0]  # fmt: skip
            tiles.append(tile.tolist())
        out = [torch.full((b, length + 1), -1), *(torch.full((b, length), -1) for _ in range(2))]
        for i in range(b):
            best, most = 0, 0
            for j in range(count):
                good = [tiles[0][i][j][k + 1] == tiles[1][i][j][k] for k in range(length)]
                accepted = good.index(False) if False in good else length
                if accepted > most:
                    best, most = j, accepted
            out[0][i, 0] = tiles[1][i][best][0]
            start = int(offsets[i])
            for k in range(most):
                out[0][i, k + 1] = tiles[1][i][best][k + 1]
                out[1][i, k], out[2][i, k] = start + length * best + 1 + k, start + 1 + k
        return out[0], out[1].flatten(), out[2].flatten()

    return lambda: file.verify_draft(given, after, offsets, None, b, count, length), want


@repository.case(f"{OPS}sample.py", "sample_from_logit_kernel", small=dict(b=6, v=300), production=dict(b=256, v=128256))  # fmt: skip
def sample(file, device, b, v):
    """The number that decides is the generator's first one, the same for all rows."""
    logits = tm.normal(b, v, device=device, scale=3.0)
    heat = (torch.rand(b) + 0.5).to(device)
    k = tm.integers(1, 20, b, device=device, dtype=torch.int32)
    k[0] = 1
    p, least = (torch.rand(b).to(device) * s for s in (0.3, 0.05))

    def run():
        got = file.sample_from_logit(logits, heat, k, p, least, 20)
        return (logits.gather(1, got[:, None])[:, 0] >= logits.sort(1, descending=True).values[torch.arange(b), k.cpu().long() - 1].to(device)), got[0]  # fmt: skip

    return run, lambda: (torch.ones(b, dtype=torch.bool), logits[0].argmax())
