"""LoRAX: tables of blocks, slots and positions of requests of different lengths."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "predibase/lorax",
    "a7394ba386ece427d5a6125b419aa38b46d966dc",
    stand_ins={"loguru": {}, "lorax_server.utils.import_utils": {"SYSTEM": "cuda"}},
)
FILE = "server/lorax_server/models/metadata_kernels.py"
SMALL, PRODUCTION = dict(b=5, most=600), dict(b=2048, most=8192)
I32 = torch.int32


def _ragged(table, lengths):
    return torch.cat([row[:length] for row, length in zip(table, lengths, strict=True)])


@repository.case(FILE, "triton_block_tables_to_ragged, triton_block_tables_to_padded", small=SMALL, production=PRODUCTION, rtol=0, atol=0)  # fmt: skip
def tables(file, device, b, most):
    """From rows of one length to rows in a line, and back."""
    lengths = tm.lengths(b, most)
    table = tm.integers(0, 1 << 20, b, most, device=device, dtype=I32)
    inputs = torch.ones(b, dtype=I32, device=device)
    cached = torch.tensor(lengths, dtype=I32, device=device) - 1
    file._HAS_TRITON = True

    def run():
        line = file.block_tables_to_ragged(
            block_tables=table, input_lengths=[1] * b, cache_lengths=[n - 1 for n in lengths],
            input_lengths_tensor=inputs, cache_lengths_tensor=cached, max_current_length=most,
        )  # fmt: skip
        back = torch.zeros_like(table)
        file.block_tables_to_padded(most, tm.starts(lengths, device), back, line)
        return line, back

    def want():
        seen = torch.arange(most, device=device) < (cached + 1)[:, None]
        return _ragged(table, lengths), table.where(seen, 0)

    return run, want


@repository.case(FILE, "triton_slots_filtering", small=SMALL, production=PRODUCTION, rtol=0, atol=0)  # fmt: skip
def slots(file, device, b, most):
    """The slots of every second request."""
    lengths = tm.lengths(2 * b, most)
    starts, chosen = tm.starts(lengths, device, torch.int64), lengths[1::2]
    slots = torch.randperm(sum(lengths)).to(device)

    def run():
        out = torch.empty(sum(chosen), dtype=torch.int64, device=device)
        ends = tm.starts(chosen, device, torch.int64)
        file.slots_filtering(most, slots, out, ends, starts[1:-1:2].contiguous())
        return out

    return run, lambda: torch.cat(slots.split(lengths)[1::2])


@repository.case(FILE, "triton_copy_next_input_ids_inplace", small=dict(b=5, most=600, new=20), production=dict(b=4096, most=4096, new=256), rtol=0, atol=0)  # fmt: skip
def next_ids(file, device, b, most, new):
    """New ones are written behind the others, but not over the prompt."""
    ids = tm.integers(0, 32000, b, most, device=device)
    accepted = tm.lengths(b, new)
    cached = tm.integers(1, most - new - 1, b, device=device, dtype=I32)
    inputs = torch.ones_like(cached)
    prompts = cached + inputs + tm.integers(-3, 4, b, device=device, dtype=I32)
    more = tm.integers(32000, 64000, sum(accepted), device=device)

    def run():
        out = ids.clone()
        starts = tm.starts(accepted, device)
        file.copy_next_input_ids_inplace(new, out, cached, inputs, prompts, more, starts)
        return out

    def want():
        out = ids.clone()
        for row, values in enumerate(more.split(accepted)):
            first = int(cached[row]) + 1
            skipped = max(int(prompts[row]) - first, 0)
            out[row, first + skipped : first + len(values)] = values[skipped:]
        return out

    return run, want


@repository.case(FILE, "triton_prepare_position_slot_ids", small=SMALL, production=PRODUCTION, rtol=0, atol=0)  # fmt: skip
def positions(file, device, b, most):
    lengths = tm.lengths(b, most)
    cached = tm.integers(0, 1000, b, device=device, dtype=I32)
    slot_starts = tm.integers(0, 1 << 20, b + 1, device=device)

    def run():
        place, slot = (
            torch.empty(sum(lengths), dtype=t, device=device) for t in (I32, torch.int64)
        )
        starts = tm.starts(lengths, device)
        file.prepare_position_slot_ids(most, cached, starts, slot_starts, place, slot)
        return place, slot

    def want():
        place = torch.cat([torch.arange(n, device=device) for n in lengths])
        row = torch.arange(b, device=device).repeat_interleave(torch.tensor(lengths).to(device))
        return place + cached[row], place + cached[row] + slot_starts[row]

    return run, want
