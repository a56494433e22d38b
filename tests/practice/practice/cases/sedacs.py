"""SEDACS: Ewald sums, of charges that attract each other through a periodic cell, in real and in
reciprocal space, and lists of the atoms that are near each other."""

from __future__ import annotations

import math

import torch

from practice.case import Repository

repository = Repository("lanl/sedacs", "02edd5337be04aa84c3c6c1047ff9096d8130ad5", packages={"sedacs": "src"})  # fmt: skip
EWALD = "src/sedacs/ewald/ewald_triton.py"


def _waves(n, m, device):
    """Places of atoms, charges, wave vectors and their factors."""
    places, waves = torch.rand(3, n) * 2, torch.randn(3, m) * 3
    return (x.to(device) for x in (places, torch.randn(n), waves, torch.rand(m)))


def _sums(places, charges, waves):
    phase = waves.double().T @ places.double()
    real, imaginary = phase.cos() * charges.double(), phase.sin() * charges.double()
    return real, imaginary, real.sum(1), imaginary.sum(1)


for _stored in (True, False):

    @repository.case(EWALD, "ewald_kspace_part1_kernel", small=dict(n=90, m=50), production=dict(n=8192, m=4096), rtol=1e-3, atol=5e-3, name="structure_factors" if _stored else "sums_of_structure_factors")  # fmt: skip
    def structure_factors(file, device, n, m, stored=_stored):
        places, charges, waves, _ = _waves(n, m, device)

        def run():
            outs = [torch.empty(m, n, device=device) if stored else None for _ in range(2)]
            sums = [torch.empty(m, device=device) for _ in range(2)]
            file.ewald_kspace_part1_kernel[lambda meta: (-(-m // meta["BLOCK_SIZE_M"]),)](
                *outs, *sums, places, charges, waves, n, m, low_memory_mode=not stored
            )
            return (*outs, *sums) if stored else sums

        return run, lambda: _sums(places, charges, waves)[0 if stored else 2 :]

    @repository.case(EWALD, "ewald_kspace_part2_kernel" if _stored else "ewald_kspace_part2_kernel_low_memory", small=dict(n=90, m=50), production=dict(n=8192, m=4096), rtol=2e-3, atol=2e-3, name="forces_of_waves" if _stored else "forces_of_waves_again")  # fmt: skip
    def forces(file, device, n, m, stored=_stored):
        """Forces, and derivatives for the charges, divided by what they grow with."""
        places, charges, waves, factors = _waves(n, m, device)
        charges = charges.sign() * (charges.abs() + 0.5)
        factors /= m * math.sqrt(n)
        parts = [x.float() for x in _sums(places, charges, waves)]

        def run():
            outs = torch.empty(3, n, device=device), torch.empty(n, device=device)
            kernel, given = file.ewald_kspace_part2_kernel, parts[:2]
            if not stored:
                kernel, given = file.ewald_kspace_part2_kernel_low_memory, [places]
            kernel[lambda meta: (-(-n // meta["BLOCK_SIZE_N"]),)](
                *outs, *parts[2:], *given, waves, factors, charges, n, m, True, True
            )
            return outs

        def want():
            real, imaginary, a, b = (x.double() for x in parts)
            phase = waves.double().T @ places.double()
            a, b = factors.double() * a, factors.double() * b
            slope = b[:, None] * real - a[:, None] * imaginary
            return waves.double() @ slope, a @ phase.cos() + b @ phase.sin()

        return run, want


@repository.case(EWALD, "ewald_real_space_kernel", small=dict(n=70, k=32), production=dict(n=65536, k=256), rtol=1e-4, atol=1e-3)  # fmt: skip
def near_charges(file, device, n, k):
    """Energy of each pair within a distance, forces, and derivatives for the charges. The lists
    of neighbours end in -1."""
    alpha, cutoff = 0.4, 6.0
    others = torch.randint(0, n, (n, k)).to(torch.int32)
    others[:, -k // 4 :] = torch.where(torch.rand(n, k // 4) < 0.5, -1, others[:, -k // 4 :])
    steps = torch.randn(3, n, k)
    steps = steps / steps.norm(dim=0) * (torch.rand(n, k) * 6 + 1)
    distances, charges = steps.norm(dim=0), torch.randn(n)
    others, steps, distances, charges = (
        x.to(device) for x in (others, steps.contiguous(), distances, charges)
    )

    def run():
        energy, out = torch.zeros(1, device=device), torch.empty(3, n, device=device)
        slopes = torch.empty(n, device=device)
        file.ewald_real_space_kernel[(n,)](
            energy, out, slopes, others, distances, *steps, charges, alpha, cutoff, n, k, True,
            True, BLOCK_SIZE=k,
        )  # fmt: skip
        return energy / n, out, slopes

    def want():
        r, s = distances.double(), steps.double()
        is_near = (others >= 0) & (distances < cutoff)
        q = torch.where(is_near, charges[others.clamp(min=0)].double(), 0.0)
        screened = torch.special.erfc(alpha * r)
        slope = screened / r**2 + 2 * alpha / math.sqrt(math.pi) * (-((alpha * r) ** 2)).exp() / r
        both = charges[:, None].double() * q / r
        energy = (both * screened).sum() / 2
        return energy[None] / n, -(both * slope * s).sum(-1), (q / r * screened).sum(-1)

    return run, want


# A remainder of the kernel has the sign of what is divided, so that a neighbour across the border
# is found from one of its sides alone.
@repository.case("src/sedacs/neighbor_list.py", "neighbor_list_kernel, cell_shift", small=dict(n=120, cells=4), production=dict(n=32768, cells=16), rtol=0, atol=0)  # fmt: skip
def neighbours(file, device, n, cells):
    """Sorted, for each atom, and their number. Distances are exact, so that no rounding decides
    which atoms are near."""
    edge, cutoff, most = 2.0, 1.9, 80
    box = cells * edge
    places = torch.randint(0, int(box * 64), (3, n)) / 64
    at = (places / edge).long()
    flat = (at[0] * cells + at[1]) * cells + at[2]
    counts = torch.bincount(flat, minlength=cells**3)
    order = flat.argsort(stable=True)
    table = torch.full((cells**3, int(counts.max())), -1, dtype=torch.int32)
    table[flat[order], torch.arange(n) - (counts.cumsum(0) - counts)[flat[order]]] = order.int()
    table = table.view(cells, cells, cells, -1).to(device)
    places = places.to(device)
    edges, lengths = (torch.full((3,), x, device=device) for x in (edge, box))

    def run():
        found, number = file.compute_neighbor_list_triton(
            places, lengths, table, cutoff, edges, most
        )
        return found.sort(1).values, number

    def want():
        rows, numbers = [], []
        for some in torch.arange(n, device=device).split(64):
            d = places[:, some, None].double() - places[:, None].double()
            d = torch.fmod(d + box / 2, box) - box / 2
            is_near = d.square().sum(0) <= cutoff**2
            is_near[torch.arange(len(some), device=device), some] = False
            index = torch.where(is_near, torch.arange(n, device=device), -1)
            rows.append(index.sort(1).values[:, -most:])
            numbers.append(is_near.sum(1))
        return torch.cat(rows), torch.cat(numbers)

    return run, want
