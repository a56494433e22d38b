"""torchtune: the order of tokens by their experts."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "pytorch/torchtune", "bd2a0fc7c31430972728494fa01aaeeb0ebf1ba1", packages={"torchtune": "."}
)


@repository.case("torchtune/modules/moe/indices.py", "_fill_indices_kernel", small=dict(experts=4, ranks=3), production=dict(experts=32, ranks=64))  # fmt: skip
def permuted(file, device, experts, ranks):
    import torch

    counts = tm.integers(0, 30, ranks * experts, device=device, dtype=torch.int32)

    def want():
        starts = counts.cumsum(0) - counts
        rows, sizes = [], []
        for expert in range(experts):
            own = [i * experts + expert for i in range(ranks)]
            places = [torch.arange(int(counts[j])) + int(starts[j]) for j in own]
            size = max(sum(len(p) for p in places), 1)
            size = -(-size // 16) * 16
            row = torch.full((size,), -1)
            filled = torch.cat(places)
            row[: len(filled)] = filled
            rows.append(row)
            sizes.append(size)
        sizes = torch.tensor(sizes)
        return torch.cat(rows), sizes, sizes.cumsum(0)

    return lambda: file.generate_permute_indices(counts, experts, ranks, 16), want
