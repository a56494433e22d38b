"""vLLM, the fork jinhuang12/vllm: sampling, penalties, rejection of drafts, log probabilities."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.vllm import vllm

repository = vllm()
SAMPLE, V1 = "vllm/v1/worker/gpu/sample/", "vllm/v1/sample/"
DRAFTS = "vllm/v1/worker/gpu/spec_decode/"
VOCABULARY = dict(small=dict(m=5, n=3000), production=dict(m=256, n=151936))
NONE = float("-inf")


def _order(m, device):
    return torch.randperm(m).to(torch.int32).to(device)


@repository.case(SAMPLE + "gumbel.py", "_temperature_kernel", **VOCABULARY)
def temperature(file, device, m, n):
    x, order = tm.normal(m, n, device=device), _order(m, device)
    t = torch.rand(m).to(device) + 0.1
    t[0], t[1] = 0.0, 1.0

    def run():
        y = x.clone()
        file.apply_temperature(y, order, t)
        return y

    return run, lambda: x.double() / t.masked_fill(t == 0, 1)[order.long()].double()[:, None]


@repository.case(SAMPLE + "gumbel.py", "_gumbel_sample_kernel, tl_rand64", **VOCABULARY)
def gumbel_sample(file, device, m, n):
    """One token of each row is far above the others, so noise does not move the result."""
    x, order = tm.normal(m, n, device=device), _order(m, device)
    best = torch.randint(0, n, (m,)).to(device)
    x[torch.arange(m, device=device), best] = 300.0
    t = torch.rand(m).to(device) + 0.5
    t[0] = 0.0
    seeds = tm.integers(0, 1 << 40, m, device=device)
    places = tm.integers(0, 4000, m, device=device)

    def run():
        processed = torch.zeros(m, n, device=device)
        tokens = file.gumbel_sample(x, order, t, seeds, places, True, processed)
        return tokens, processed

    def want():
        y = torch.empty(m, n, device=device, dtype=torch.float64)
        y[order.long()] = x.double() / t.masked_fill(t == 0, 1)[order.long()].double()[:, None]
        return best, y

    return run, want


# It stores over the whole row, then to some of it, from other lanes, with no barrier between.
@repository.case(SAMPLE + "logit_bias.py", "_bias_kernel", **VOCABULARY, finds="race-warp-order")
def logit_bias(file, device, m, n):
    x, order = tm.normal(m, n, device=device), _order(m, device)
    allowed, biased, stops = (torch.stack([torch.randperm(n)[:k] for _ in range(m)]).to(torch.int32).to(device) for k in (40, 20, 10))  # fmt: skip
    bias = tm.normal(m, 20, device=device)
    counts = [tm.integers(0, k, m, device=device, dtype=torch.int32) for k in (40, 20, 10)]
    counts[0][0] = 0
    place, least = (tm.integers(0, 9, m, device=device, dtype=torch.int32) for _ in range(2))

    def run():
        y = x.clone()
        file.apply_logit_bias(
            y, order, place, counts[0], allowed, counts[1], biased, bias, least, counts[2], stops
        )
        return y

    def want():
        y = x.double()
        for i, r in enumerate(order.tolist()):
            a, b, s = (int(c[r]) for c in counts)
            if a:
                kept = allowed[r, :a].long()
                only = torch.full_like(y[i], NONE)
                only[kept] = y[i, kept]
                y[i] = only
            y[i, biased[r, :b].long()] += bias[r, :b].double()
            if place[i] < least[r]:
                y[i, stops[r, :s].long()] = NONE
        return y

    return run, want


@repository.case(SAMPLE + "logprob.py", "_topk_log_softmax_kernel, _ranks_kernel", **VOCABULARY)
def log_probabilities(file, device, m, n):
    x = tm.normal(m, n, device=device, scale=3)
    tokens = tm.integers(0, n, m, device=device)

    def run():
        made = file.compute_topk_logprobs(x, 5, tokens)
        return made.logprobs, made.selected_token_ranks

    def want():
        ids = torch.cat([tokens[:, None], x.topk(5, -1).indices], -1)
        mine = x.gather(-1, tokens[:, None])
        return x.double().log_softmax(-1).gather(-1, ids), (x >= mine).sum(-1)

    return run, want


@repository.case(SAMPLE + "min_p.py", "_min_p_kernel", **VOCABULARY)
def min_p(file, device, m, n):
    x, p = tm.normal(m, n, device=device, scale=3), torch.rand(m).to(device) * 0.3
    p[0] = 0
    order = _order(m, device)

    def run():
        y = x.clone()
        file.apply_min_p(y, order, p)
        return y

    return run, lambda: x.masked_fill(x < (x.amax(-1) + p[order.long()].log())[:, None], NONE)


@repository.case(SAMPLE + "penalties.py", "_penalties_kernel", **VOCABULARY, rtol=1e-4, atol=1e-4)
def penalties(file, device, m, n):
    """The drafts of a request count too: token i of it has seen those before."""
    x, r = tm.normal(m, n, device=device), _order(m, device)
    repetition, frequency, presence = (torch.rand(m).to(device) + 0.5 for _ in range(3))
    words = tm.integers(-(1 << 31), 1 << 31, m, -(-n // 32), device=device, dtype=torch.int32)
    counts = tm.integers(0, 3, m, n, device=device, dtype=torch.int32)
    place = (torch.arange(m, dtype=torch.int32) % 3).to(device)
    tokens = tm.integers(0, n, m, device=device, dtype=torch.int32)

    def run():
        y = x.clone()
        file.apply_penalties(y, r, tokens, place, repetition, frequency, presence, words, counts, 3)
        return y

    def want():
        mine = r.long()
        bits = torch.stack([(words.long() >> i) & 1 for i in range(32)], -1).flatten(1)[:, :n]
        count = counts[mine].clone()
        for i, before in enumerate(place.tolist()):
            for j in range(before):
                count[i, tokens[i - before + j + 1].long()] += 1
        scale = torch.where(bits[mine].bool() | (count > 0), repetition[mine][:, None], 1.0)
        y = torch.where(x > 0, x.double() / scale.double(), x.double() * scale.double())
        return y - frequency[mine][:, None] * count - presence[mine][:, None] * (count > 0)

    return run, want


@repository.case(SAMPLE + "penalties.py", "_bincount_kernel", small=dict(m=4, n=500, length=1500), production=dict(m=256, n=151936, length=8192), rtol=0, atol=0)  # fmt: skip
def bin_counts(file, device, m, n, length):
    order = _order(m, device)
    tokens = tm.integers(0, n, m, length, device=device, dtype=torch.int32)
    filled = torch.tensor(tm.lengths(m, length), dtype=torch.int32).to(device)
    prompt = filled // 2

    def run():
        words = torch.ones(m, -(-n // 32), device=device, dtype=torch.int32)
        counts = torch.ones(m, n, device=device, dtype=torch.int32)
        file.bincount(order.long(), tokens, prompt, filled, words, counts, length)
        return torch.stack([(words.long() >> i) & 1 for i in range(32)], -1).flatten(1), counts

    def want():
        seen = torch.zeros(m, -(-n // 32) * 32, dtype=torch.int64, device=device)
        counts = torch.zeros(m, n, dtype=torch.int64, device=device)
        for i in range(m):
            p, f = int(prompt[i]), int(filled[i])
            seen[i, tokens[i, :p].long()] = 1
            counts[i] = tokens[i, p:f].long().bincount(minlength=n)
        return seen, counts

    return run, want


# Two words of a request may end in the same token, which both programs forbid.
@repository.case(SAMPLE + "bad_words.py", "_bad_words_kernel", small=dict(m=6, n=50), production=dict(m=256, n=151936), rtol=0, atol=0, finds="race-same-value")  # fmt: skip
def bad_words(file, device, m, n):
    """Words of one to three tokens; a request has two tokens of its own and a draft."""
    x = tm.normal(m, n, device=device)
    order = torch.arange(m, dtype=torch.int32).to(device) // 2
    place = torch.arange(m, dtype=torch.int32).to(device) % 2
    tokens = tm.integers(0, 3, m, 8, device=device, dtype=torch.int32)
    words = tm.integers(0, 3, m, 6, device=device, dtype=torch.int32)
    offsets = torch.tensor([[0, 1, 3, 6]] * m, dtype=torch.int32).to(device)
    count = torch.full((m,), 3, dtype=torch.int32).to(device)
    prompt, total = (torch.full((m,), k, dtype=torch.int32).to(device) for k in (5, 7))
    drafts = tm.integers(0, 3, m, device=device, dtype=torch.int32)

    def run():
        y = x.clone()
        file.apply_bad_words(
            y, order, words, offsets, count, tokens, prompt, total, drafts, place, 3
        )
        return y

    def want():
        y = x.clone()
        for i, (r, p) in enumerate(zip(order.tolist(), place.tolist(), strict=True)):
            said = tokens[r, 5:7].tolist() + drafts[i - p : i].tolist()
            for a, b in ((0, 1), (1, 3), (3, 6)):
                *prefix, last = words[r, a:b].tolist()
                if not prefix or said[-len(prefix) :] == prefix:
                    y[i, last] = NONE
        return y

    return run, want


@repository.case(SAMPLE + "prompt_logprob.py", "_prompt_logprobs_token_ids_kernel", small=dict(b=4, length=1500), production=dict(b=256, length=8192), rtol=0, atol=0)  # fmt: skip
def prompt_tokens(file, device, b, length):
    tokens = tm.integers(0, 1000, b, 2 * length, device=device, dtype=torch.int32)
    sizes, order = tm.lengths(b, length), _order(b, device)
    places = tm.starts(sizes, device)
    done = tm.integers(0, length - 2, b, device=device, dtype=torch.int32)

    def want():
        rows = zip(order.tolist(), sizes, strict=True)
        return torch.cat([tokens[r, int(done[r]) + 1 :][:size] for r, size in rows])

    return lambda: file.get_prompt_logprobs_token_ids(sum(sizes), places, order, done, tokens), want


@repository.case("vllm/v1/worker/gpu/metrics/logits.py", "_num_nans_kernel", **VOCABULARY)
def count_of_nans(file, device, m, n):
    x = tm.normal(m, n, device=device)
    x = x.masked_fill(x > 1, float("nan"))
    return lambda: file.get_num_nans(x), lambda: x.isnan().sum(-1)


@repository.case("vllm/v1/worker/gpu/structured_outputs.py", "_apply_grammar_bitmask_kernel", **VOCABULARY)  # fmt: skip
def grammar_mask(file, device, m, n):
    x, rows = tm.normal(m + 2, n, device=device), _order(m, device)
    words = tm.integers(-(1 << 31), 1 << 31, m, -(-n // 32), device=device, dtype=torch.int32)

    def run():
        y = x.clone()
        # The wrapper uses streams.
        file._apply_grammar_bitmask_kernel[(m, -(-n // 8192))](
            y, y.stride(0), rows, words, words.stride(0), n, BLOCK_SIZE=8192
        )
        return y

    def want():
        bits = torch.stack([(words.long() >> i) & 1 for i in range(32)], -1).flatten(1)[:, :n]
        y = x.clone()
        y[rows.long()] = y[rows.long()].masked_fill(bits == 0, NONE)
        return y

    return run, want


def _drafts(b, device):
    """How many drafts each request has, with the sums of them, and of them with the token that
    is sampled anyway."""
    counts = [(3 * i + 2) % 5 for i in range(b)]
    more = tm.starts([c + 1 for c in counts], device)
    return counts, torch.tensor(counts).cumsum(0).to(torch.int32).to(device), more


def _accepted(counts, drafts, targets, bonus):
    """Tokens of each request up to the first draft that differs from its target."""
    rows, at = [], 0
    for i, count in enumerate(counts):
        row = []
        for d, t in zip(drafts[at : at + count], targets[at : at + count], strict=True):
            row.append(t)
            if d != t:
                break
        else:
            row.append(bonus[i])
        rows.append(row)
        at += count
    return rows


def _padded(rows, width, value=-1):
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])


@repository.case(V1 + "rejection_sampler.py", "rejection_greedy_sample_kernel", small=dict(b=9), production=dict(b=1024), rtol=0, atol=0)  # fmt: skip
def rejected_greedy(file, device, b):
    counts, ends, _ = _drafts(b, device)
    drafts, targets = (tm.integers(0, 2, sum(counts), device=device) for _ in range(2))
    bonus = tm.integers(5, 9, b, 1, device=device)

    def run():
        out = torch.full((b, 5), -1, device=device, dtype=torch.int64)
        file.rejection_greedy_sample_kernel[(b,)](out, ends, drafts, targets, bonus, None, 4)
        return out

    rows = _accepted(counts, drafts.tolist(), targets.tolist(), bonus[:, 0].tolist())
    return run, lambda: _padded(rows, 5)


@repository.case(V1 + "rejection_sampler.py", "rejection_random_sample_kernel", small=dict(b=9, n=40), production=dict(b=256, n=32000), rtol=0, atol=0)  # fmt: skip
def rejected_random(file, device, b, n):
    counts, ends, _ = _drafts(b, device)
    total = sum(counts)
    drafts, recovered = (tm.integers(0, n, total, device=device) for _ in range(2))
    p, q = (tm.normal(total, n, device=device).softmax(-1) for _ in range(2))
    uniform, bonus = torch.rand(total).to(device), tm.integers(0, n, b, 1, device=device)
    greedy = torch.zeros(b, dtype=torch.bool).to(device)

    def run():
        out = torch.full((b, 5), -1, device=device, dtype=torch.int64)
        file.rejection_random_sample_kernel[(b,)](
            out, ends, drafts, q, p, bonus, recovered, uniform, greedy, 4, n, NO_DRAFT_PROBS=False
        )
        return out

    def want():
        at = torch.arange(total, device=device)
        taken = p[at, drafts] / q[at, drafts] >= uniform
        rows = _accepted(
            counts, [-1 if not t else d for t, d in zip(taken.tolist(), drafts.tolist(), strict=True)],
            torch.where(taken, drafts, recovered).tolist(), bonus[:, 0].tolist(),
        )  # fmt: skip
        return _padded(rows, 5)

    return run, want


@repository.case(V1 + "rejection_sampler.py", "expand_kernel", small=dict(b=9), production=dict(b=1024), rtol=0, atol=0)  # fmt: skip
def expanded(file, device, b):
    counts, ends, _ = _drafts(b, device)
    x = torch.rand(b).to(device)
    x[0] = 0

    def run():
        out = torch.empty(sum(counts), device=device)
        file.expand_kernel[(b,)](out, x, ends, 0, 1, MAX_NUM_TOKENS=32)
        return out

    return run, lambda: x.masked_fill(x == 0, 1).cpu().repeat_interleave(torch.tensor(counts))


@repository.case(V1 + "rejection_sampler.py", "sample_recovered_tokens_kernel", small=dict(b=7, n=3000), production=dict(b=64, n=151936), rtol=0, atol=0)  # fmt: skip
def recovered_tokens(file, device, b, n):
    counts, ends, _ = _drafts(b, device)
    total = sum(counts)
    drafts = tm.integers(0, n, total, device=device)
    p, q = (tm.normal(total, n, device=device).softmax(-1) for _ in range(2))
    noise = 1 / torch.empty(b, n).exponential_().to(device)

    def run():
        out = torch.empty(2, total, device=device, dtype=torch.int64)
        for i in range(2):
            file.sample_recovered_tokens_kernel[(b, 4)](
                out[i], ends, drafts, q, p, noise, n, BLOCK_SIZE=1024, NO_DRAFT_PROBS=bool(i)
            )
        return out

    def want():
        mine = noise.repeat_interleave(torch.tensor(counts, device=device), 0)
        other = p.scatter(1, drafts[:, None], 0)
        return torch.stack([((p - q).clamp(min=0) * mine).argmax(-1), (other * mine).argmax(-1)])

    return run, want


# It loads what other lanes have stored in its buffer, with no barrier between.
@repository.case(V1 + "ops/topk_topp_triton.py", "_topk_topp_kernel, _update_min_larger_stats", small=dict(m=3, n=3000), production=dict(m=64, n=151936), rtol=0, atol=0, finds="race-warp-order")  # fmt: skip
def top_k(file, device, m, n):
    x = tm.normal(m, n, device=device, scale=3)
    k = tm.integers(10, 200, m, device=device, dtype=torch.int32)
    k[0] = n

    def want():
        order = x.argsort(-1, descending=True)
        kept = torch.arange(n, device=device)[None] < k[:, None]
        return torch.zeros_like(kept).scatter(-1, order, kept)

    return lambda: file.apply_top_k_top_p_triton(x.clone(), k, None).isfinite(), want


@repository.case(V1 + "ops/topk_topp_triton.py", "_topk_topp_kernel, _update_min_larger_stats", small=dict(m=3, n=3000), production=dict(m=64, n=151936), rtol=0, atol=0, finds="race-warp-order")  # fmt: skip
def top_k_top_p(file, device, m, n):
    x = tm.normal(m, n, device=device, scale=3)
    k = tm.integers(10, 200, m, device=device, dtype=torch.int32)
    p = torch.full((m,), 0.9).to(device)

    def want():
        values, order = x.double().sort(-1, descending=True)
        kept = torch.arange(n, device=device)[None] < k[:, None]
        probs = values.masked_fill(~kept, NONE).softmax(-1)
        kept &= probs.cumsum(-1) - probs < p.double()[:, None]
        return torch.zeros_like(kept).scatter(-1, order, kept)

    return lambda: file.apply_top_k_top_p_triton(x.clone(), k, p).isfinite(), want


@repository.case(DRAFTS + "rejection_sampler.py", "_strict_rejection_sample_kernel, _flatten_sampled_kernel", small=dict(b=9), production=dict(b=1024), rtol=0, atol=0)  # fmt: skip
def rejected_strictly(file, device, b):
    counts, _, starts = _drafts(b, device)
    total = int(starts[-1])
    targets = tm.integers(0, 2, total, device=device)
    drafts = tm.integers(0, 2, total, device=device, dtype=torch.int32)

    def run():
        tokens, count = file.strict_rejection_sample(targets, drafts, starts, 4)
        flat = torch.full((total,), -1, device=device, dtype=torch.int64)
        file._flatten_sampled_kernel[(b,)](
            flat, tokens, tokens.stride(0), count, starts, num_warps=1
        )
        return flat, count

    def want():
        flat, many = torch.full((total,), -1, dtype=torch.int64), []
        for i, count in enumerate(counts):
            at = int(starts[i])
            mine = targets[at : at + count + 1].tolist()
            row = _accepted([count], drafts[at + 1 :].tolist(), mine, [mine[-1]])[0]
            flat[at : at + len(row)] = torch.tensor(row)
            many.append(len(row))
        return flat, torch.tensor(many)

    return run, want


@repository.case(DRAFTS + "synthetic_rejection_sampler_utils.py", "_synthetic_rejection_sample_kernel, tl_rand64", small=dict(b=9), production=dict(b=1024), rtol=0, atol=0)  # fmt: skip
def rejected_synthetically(file, device, b):
    """With a rate of 2 all drafts are taken, with one of 0 none."""
    counts, _, starts = _drafts(b, device)
    total = int(starts[-1])
    targets = tm.integers(0, 100, total, device=device)
    drafts = tm.integers(0, 100, total, device=device, dtype=torch.int32)
    places, order = torch.arange(total).to(device), _order(b, device)
    seeds = tm.integers(0, 1 << 40, b, device=device)

    def run():
        made = []
        for rate in (2.0, 0.0):
            tokens, count = file.synthetic_rejection_sample(
                targets, drafts, starts, places, order, seeds, rate, 1.0, 4
            )
            kept = torch.arange(5, device=device) < count[:, None]
            made += [tokens.masked_fill(~kept, -1), count]
        return made

    def want():
        all_rows, first = [], []
        for i, count in enumerate(counts):
            at = int(starts[i])
            row = drafts[at + 1 : at + 1 + count].tolist() + [int(targets[at + count])]
            all_rows.append(row)
            first.append([int(targets[at])])
        many = torch.tensor(counts) + 1
        return _padded(all_rows, 5), many, _padded(first, 5), torch.ones(b)

    return run, want


# Its softmax reads rows of drafts that are not filled at temperature 0; nobody uses them.
@repository.case(DRAFTS + "rejection_sampler.py", "_gather_draft_logits_and_target_argmax_kernel, _probabilistic_rejection_kernel, _compute_residual_logits_kernel, _gumbel_sample_kernel", small=dict(b=6, n=3000), production=dict(b=64, n=151936), rtol=0, atol=0)  # fmt: skip
def rejected_by_probability(file, device, b, n):
    """Requests at temperature 0, whose result is without noise."""
    counts, _, starts = _drafts(b, device)
    total = int(starts[-1])
    logits = tm.normal(total, n, device=device)
    best = logits.argmax(-1)
    drafts = torch.cat([best[:1], best[:-1]])
    drafts[::3] = 0  # token i+1 of a request is the draft for its logits i
    order = _order(b, device)
    mine = torch.repeat_interleave(torch.arange(b), torch.tensor(counts) + 1)
    place = (torch.arange(total) - starts.cpu()[mine]).to(torch.int32).to(device)
    expanded_order = order[mine.to(device)]
    zeros, seeds = torch.zeros(b, device=device), tm.integers(0, 1 << 40, b, device=device)
    q = tm.normal(b, 4, n, device=device)

    def run():
        tokens, count = file.probabilistic_rejection_sample(
            logits, q, drafts, starts, torch.arange(total, device=device), order, expanded_order,
            place, zeros, seeds, 4,
        )  # fmt: skip
        kept = torch.arange(5, device=device) < count[:, None]
        return tokens.masked_fill(~kept, -1), count

    def want():
        rows = []
        for i, count in enumerate(counts):
            at = int(starts[i])
            right = best[at : at + count + 1].tolist()
            rows.append(_accepted([count], drafts[at + 1 :].tolist(), right, [right[-1]])[0])
        return _padded(rows, 5), torch.tensor([len(row) for row in rows])

    return run, want
