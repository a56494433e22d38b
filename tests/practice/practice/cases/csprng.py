"""triton-csprng: ChaCha20 streams, and integers of several distributions from them."""

from __future__ import annotations

import importlib

import torch

from practice.case import Repository

repository = Repository("visualDust/triton-csprng", "62f2535483fb6dcb399305005820f3abe17bd3f8", packages={"triton_csprng": "."})  # fmt: skip
SAMPLING = "triton_csprng/sampling.py"
KEY, NONCE, MASK = list(range(8)), [9, 1 << 31], 0xFFFFFFFF


def _stream(device, counter=5, key=KEY):
    """A stream of the repository: on 'cpu' its own reference, else its kernels."""
    stream = importlib.import_module("triton_csprng.stream")
    return stream.ChaCha20Rng(key=key, nonce=NONCE, counter=counter, device=device)


def _blocks(states):
    """The blocks of ChaCha20, from the definition, with words in int64."""
    first = [s.to(torch.int64) for s in states.cpu().unbind(1)]
    x = list(first)

    def add_turn(a, b, d, bits):
        x[a] = (x[a] + x[b]) & MASK
        mixed = x[d] ^ x[a]
        x[d] = ((mixed << bits) | (mixed >> (32 - bits))) & MASK

    for step in range(20):
        for i in range(4):
            shift = step % 2
            a, b, c, d = (4 * row + (i + row * shift) % 4 for row in range(4))
            for one, two, three, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                add_turn(one, two, three, bits)
    return torch.stack([(x[i] + first[i]) & MASK for i in range(16)], 1)


@repository.case("triton_csprng/chacha20.py", "_chacha20_blocks_kernel, _quarter_round, _rotl32", small=dict(n=300), production=dict(n=1 << 20))  # fmt: skip
def blocks(file, device, n):
    start = file.make_chacha20_state(
        num_blocks=n, key=KEY, nonce=NONCE, counter=(1 << 32) - 7, device=device
    )

    def run():
        states = start.clone()
        return file.chacha20_blocks(states, step=n), states

    def want():
        counters = (1 << 32) - 7 + n + torch.arange(n)
        after = start.cpu().to(torch.int64)
        after[:, 12], after[:, 13] = counters & MASK, counters >> 32
        return _blocks(start), after

    return run, want


def _sampled(sample, kernels, name, offset=0):
    """``sample(file, stream, n)``; ``offset`` words are taken from the stream before it."""

    def build(file, device, n):
        device = "cuda" if device == "cpu" else device  # its CPU path is the reference

        def by(device):
            rng = _stream(device)
            if offset:
                rng.uint32(offset)
            return sample(file, rng, n)

        return lambda: by(device), lambda: by("cpu")

    repository.case(SAMPLING, kernels, small=dict(n=320), production=dict(n=1 << 22), name=name)(build)  # fmt: skip


BOUNDS = [3, (1 << 61) - 1, 1 << 40, 12289]
WORDS = "_chacha20_block_words, _rotl32, _quarter_round"
_sampled(lambda f, r, n: f.bounded_uint64(r, BOUNDS, (4, n)), f"_fused_bounded_uint64_kernel, _sample_multiply_high, {WORDS}", "bounded")  # fmt: skip
_sampled(lambda f, r, n: f.bounded_uint64(r, BOUNDS, (4, n)), "_bounded_uint64_kernel", "bounded_from_words", 3)  # fmt: skip
_sampled(lambda f, r, n: f.discrete_gaussian(r, (n,)), f"_fused_discrete_gaussian_kernel, _sample_discrete_gaussian, {WORDS}", "gaussian")  # fmt: skip
_sampled(lambda f, r, n: f.discrete_gaussian(r, (n,), sigma=17.0), "_discrete_gaussian_kernel", "gaussian_from_words", 3)  # fmt: skip


def _two(sample, kernels, name):
    def sampled(f, first, n):
        second = _stream(first.device, 1 << 33, KEY[::-1])
        return sample(f, first, second, n)

    _sampled(sampled, kernels, name)


_two(lambda f, a, b, n: f.bounded_uint64_two_streams(a, b, BOUNDS, (4, n), first_channels=3), "_fused_bounded_uint64_two_streams_kernel, _chacha20_block_words_two_streams", "bounded_two_streams")  # fmt: skip
_two(lambda f, a, b, n: f.discrete_gaussian_two_streams(a, b, (4, n), first_channels=1), "_fused_discrete_gaussian_two_streams_kernel, _chacha20_block_words_two_streams", "gaussian_two_streams")  # fmt: skip


@repository.case(SAMPLING, f"_fused_stochastic_round_kernel, {WORDS}", small=dict(n=320), production=dict(n=1 << 24))  # fmt: skip
def stochastic_round(file, device, n):
    values = torch.randn(n, dtype=torch.float64).mul(100).to(device)

    def run():
        rng, out = _stream("cuda"), torch.empty(n, dtype=torch.int64, device=device)
        file._fused_stochastic_round_kernel[(file.triton.cdiv(n // 16, 128),)](
            values, out, n, n // 16, file._rng_state_words(rng), *file._rng_counter_args(rng),
            BLOCK=128, num_warps=file._sampling_num_warps(128),
        )  # fmt: skip
        return out

    return run, lambda: file.stochastic_round(_stream("cpu"), values.cpu())
