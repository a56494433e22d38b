"""Text Generation Inference: bookkeeping of batches, GPTQ with an autotuner of its own."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository
from practice.cases.autogptq import weights

repository = Repository(
    "huggingface/text-generation-inference",
    "db931fcf42da018a3657580c64bf2720f167f9ab",
    packages={"text_generation_server": "server"},
    stand_ins={
        "loguru": {},
        "text_generation_server.utils.import_utils": {"SYSTEM": "cuda"},
        "text_generation_server.utils.log": {},
        "text_generation_server.utils.weights": {},
        "torch.utils._triton": {"has_triton": lambda: True},
    },
)
FILE = "server/text_generation_server/models/metadata_kernels.py"
SIZES = dict(small=dict(b=5, n=300), production=dict(b=512, n=4096), rtol=0, atol=0)


@repository.case(FILE, "triton_block_tables_to_padded", **SIZES)
def tables_to_padded(file, device, b, n):
    lengths = tm.lengths(b, n)
    ragged = tm.integers(0, 1000, sum(lengths), device=device, dtype=torch.int32)
    places = tm.starts(lengths, device)

    def run():
        out = torch.full((b, n), -1, device=device, dtype=torch.int32)
        file.block_tables_to_padded(n, places, out, ragged)
        return out

    def want():
        return torch.nn.utils.rnn.pad_sequence(
            ragged.split(lengths), batch_first=True, padding_value=-1
        )

    return run, want


@repository.case(FILE, "triton_block_tables_to_ragged", **SIZES)
def tables_to_ragged(file, device, b, n):
    lengths = tm.lengths(b, n)
    table = tm.integers(0, 1000, b, n, device=device, dtype=torch.int32)
    cached = [length // 2 for length in lengths]
    rest = [a - c for a, c in zip(lengths, cached, strict=True)]
    tensors = [torch.tensor(x, device=device, dtype=torch.int32) for x in (rest, cached)]

    def run():
        return file.block_tables_to_ragged(
            block_tables=table, input_lengths=rest, cache_lengths=cached, input_lengths_tensor=tensors[0],
            cache_lengths_tensor=tensors[1], max_current_length=n,
        )  # fmt: skip

    return run, lambda: torch.cat(
        [row[:length] for row, length in zip(table, lengths, strict=True)]
    )


@repository.case(FILE, "triton_slots_filtering", **SIZES)
def slots_filtering(file, device, b, n):
    lengths = tm.lengths(b, n)
    slots = tm.integers(0, 1000, 2 * sum(lengths), device=device)
    first = [i * 3 for i in range(b)]
    places = tm.starts(lengths, device, torch.int64)

    def run():
        out = torch.full((sum(lengths),), -1, device=device)
        file.slots_filtering(n, slots, out, places, torch.tensor(first, device=device))
        return out

    return run, lambda: torch.cat(
        [slots[f : f + length] for f, length in zip(first, lengths, strict=True)]
    )


@repository.case(FILE, "triton_copy_next_input_ids_inplace", **SIZES)
def copy_next_ids(file, device, b, n):
    accepted = [1 + i % 3 for i in range(b)]
    ids = tm.integers(0, 1000, b, n, device=device)
    cached, rest = ([(i * k) % 20 + 1 for i in range(b)] for k in (3, 5))
    prompt = [25 if i % 2 else 1 for i in range(b)]
    new = tm.integers(1000, 2000, sum(accepted), device=device)
    tensors = [torch.tensor(x, device=device) for x in (cached, rest, prompt)]

    def run():
        out = ids.clone()
        file.copy_next_input_ids_inplace(
            max(accepted), out, *tensors, new, tm.starts(accepted, device, torch.int64)
        )
        return out

    def want():
        out = ids.clone()
        for i, part in enumerate(new.split(accepted)):
            for j, value in enumerate(part):
                place = cached[i] + rest[i] + j
                if place >= prompt[i]:
                    out[i, place] = value
        return out

    return run, want


@repository.case(FILE, "triton_prepare_position_slot_ids", **SIZES)
def position_slot_ids(file, device, b, n):
    lengths = tm.lengths(b, n)
    cached = [i * 3 for i in range(b)]
    slots = [a + c for a, c in zip(lengths, cached, strict=True)]
    places, slot_places = tm.starts(lengths, device), tm.starts(slots, device, torch.int64)

    def run():
        positions = torch.full((sum(lengths),), -1, device=device, dtype=torch.int32)
        indices = torch.full((sum(lengths),), -1, device=device)
        file.prepare_position_slot_ids(
            n,
            torch.tensor(cached, device=device, dtype=torch.int32),
            places,
            slot_places,
            positions,
            indices,
        )
        return positions, indices

    def want():
        positions = [torch.arange(length) + c for length, c in zip(lengths, cached, strict=True)]
        first = slot_places.tolist()
        return torch.cat(positions), torch.cat(
            [p + s for p, s in zip(positions, first, strict=False)]
        )

    return run, want


@repository.case("server/text_generation_server/layers/gptq/triton.py", "matmul_248_kernel", small=dict(m=20, k=256, n=256), production=dict(m=64, k=4096, n=4096), rtol=1e-2, atol=0.1)  # fmt: skip
def gptq_matmul(file, device, m, k, n):
    *given, real = weights(device, k, n, 4)
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    return lambda: file.matmul248(x, *given, 4, 15), lambda: x.double() @ real
