"""trix: an FFT in one program, its stages kept apart by barriers."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "anjaustin/trix", "e87ba17f8a53c8dcab93cba87c7b40173e0ad7b6", packages={"experiments": "."}
)
FOLDER = "experiments/number_theory/trix_riemann"


@repository.case(f"{FOLDER}/triton_fft_large.py", "trix_fft_general_kernel", small=dict(b=2, n=16), production=dict(b=512, n=32), atol=1e-4)  # fmt: skip
def fft(file, device, b, n):
    x, y = tm.normal(b, n, device=device), tm.normal(b, n, device=device)
    tables = file.compute_twiddle_table(n, device), file.compute_bitrev_permutation(n, device)
    want = torch.fft.fft(torch.complex(x.double(), y.double()))

    def run():
        out = torch.empty_like(x), torch.empty_like(y)
        file.trix_fft_general_kernel[(b,)](
            x, y, *out, *tables[0], tables[1], n, n.bit_length() - 1, n, n
        )
        return out

    return run, lambda: (want.real, want.imag)


@repository.case(f"{FOLDER}/triton_fft_large.py", "trix_fft_n16_kernel", small=dict(b=3), production=dict(b=4096), atol=1e-4)  # fmt: skip
def fft_16(file, device, b):
    x, y = tm.normal(b, 16, device=device), tm.normal(b, 16, device=device)
    want = torch.fft.fft(torch.complex(x.double(), y.double()))
    return lambda: file.TritonFFTLarge()(x, y), lambda: (want.real, want.imag)


@repository.case(f"{FOLDER}/triton_fft.py", "trix_fft_n8_kernel", small=dict(b=3), production=dict(b=4096), atol=1e-4)  # fmt: skip
def fft_8(file, device, b):
    x, y = tm.normal(b, 8, device=device), tm.normal(b, 8, device=device)
    want = torch.fft.fft(torch.complex(x.double(), y.double()))
    return lambda: file.TritonFFT()(x, y), lambda: (want.real, want.imag)
