"""xgrammar: logits of tokens that a grammar does not allow become minus infinity."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("mlc-ai/xgrammar", "53da3ff8c0db359ecb6d4b41f154308c82a89aaf")
FILE = "python/xgrammar/kernels/apply_token_bitmask_inplace_triton.py"


def _case(dtype, with_rows):
    def build(file, device, rows, vocabulary):
        logits = tm.normal(rows, vocabulary, device=device, dtype=dtype)
        words = tm.integers(-(1 << 31), 1 << 31, rows, -(-vocabulary // 32), device=device).to(torch.int32)  # fmt: skip
        chosen = torch.arange(0, rows, 2) if with_rows else torch.arange(rows)
        indices = chosen.to(torch.int32).to(device)

        def run():
            out, sms = logits.clone(), 132
            file.apply_token_bitmask_inplace_kernel[(sms,)](
                out, words, indices if with_rows else None, len(chosen), vocabulary,
                out.stride(0), words.stride(0), sms, 4096,
                num_warps=4096 // 32 // (16 // out.element_size()), num_stages=3,
            )  # fmt: skip
            return out

        def want():
            bits = (words[..., None] >> torch.arange(32, device=device)) & 1
            allowed = bits.flatten(1)[:, :vocabulary] != 0
            allowed = allowed | ~torch.isin(torch.arange(rows), chosen).to(device)[:, None]
            return logits.double().masked_fill(~allowed, float("-inf"))

        return run, want

    name = "bitmask_" + str(dtype).partition(".")[2] + "_rows" * with_rows
    repository.case(FILE, "apply_token_bitmask_inplace_kernel", name=name, small=dict(rows=3, vocabulary=9001), production=dict(rows=512, vocabulary=151936))(build)  # fmt: skip


_case(torch.float32, False)
_case(torch.bfloat16, True)
