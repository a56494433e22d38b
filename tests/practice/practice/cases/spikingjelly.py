"""spikingjelly: neurons that leak and fire over time, and spikes packed into bits."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "fangwei123456/spikingjelly",
    "afb132264a8cbe38d0f221dcef04053e6ba134d3",
    packages={"spikingjelly": "."},
    stand_ins={
        "spikingjelly.logger": {},
        "spikingjelly.configure": {},
        "spikingjelly.activation_based.surrogate": {},
    },
)
FOLDER = "spikingjelly/activation_based/triton_kernel/"
LIF = FOLDER + "neuron_kernel/lif.py"


def _steps(x, v, reset):
    """The potentials before and after each spike, and the spikes."""
    before, spikes, after = [], [], []
    for current in x:
        h = v + (current - v) / 2
        s = (h >= 0.5).to(h.dtype)
        v = h - s * 0.5 if reset == "soft" else (1 - s) * h
        before.append(h), spikes.append(s), after.append(v)
    return (torch.stack(y) for y in (before, spikes, after))


def _forward(reset, steps):
    def build(file, device, n):
        x, v = tm.normal(steps, n, device=device), torch.zeros(1, n, device=device)
        s, h, after = (torch.empty_like(x) for _ in range(3))

        def run():
            kernel = file._multistep_lif_forward_kernel_static
            if steps > 16:
                kernel = file._multistep_lif_forward_kernel_dynamic
            kernel[lambda meta: (file.triton.cdiv(n, meta["BLOCK_NCL"]),)](
                x, v, s, h, after, 2.0, 0.5, 0.0, T=steps, NCL=n, compute_dtype=file.tl.float32,
                decay_input=True, soft_reset=reset == "soft", save_intermediates=True, store_v_seq=True,
            )  # fmt: skip
            return h, s, after

        return run, lambda: tuple(_steps(x.double(), v[0].double(), reset))

    kind = "dynamic" if steps > 16 else "static"
    repository.case(LIF, f"_multistep_lif_forward_kernel_{kind}, convert_and_store", rtol=1e-4, atol=1e-4, share=1e-4, name=f"lif_{reset}_{steps}", small=dict(n=300), production=dict(n=1 << (24 if steps == 4 else 20)))(build)  # fmt: skip


_forward("hard", 4)
_forward("soft", 64)


@repository.case(LIF, "_multistep_lif_backward_kernel_static, sg_triton", rtol=1e-3, atol=1e-3, share=1e-4, small=dict(n=300), production=dict(n=1 << 23))  # fmt: skip
def lif_gradient(file, device, n):
    steps = 8
    h, of_s, of_v = (tm.normal(steps, n, device=device) for _ in range(3))
    dx, dv = torch.empty_like(h), torch.empty(1, n, device=device)

    def run():
        file._multistep_lif_backward_kernel_static[lambda meta: (file.triton.cdiv(n, meta["BLOCK_NCL"]),)](
            of_s, of_v, h, dx, dv, 2.0, 0.5, 0.0, 4.0, T=steps, NCL=n, compute_dtype=file.tl.float32,
            sg_triton_id=0, decay_input=True, soft_reset=False, detach_reset=False, store_v_seq=True,
        )  # fmt: skip
        return dx, dv

    def want():
        rights, of_next = [], torch.zeros(n, dtype=torch.float64, device=device)
        for t in reversed(range(steps)):
            x, s = h[t].double(), (h[t] >= 0.5).double()
            part = (4 * (x - 0.5)).sigmoid()
            of_next = of_next + of_v[t].double()
            of_h = (of_s[t].double() - of_next * x) * 4 * part * (1 - part) + of_next * (1 - s)
            rights.append(of_h / 2)
            of_next = of_h / 2
        return torch.stack(rights[::-1]), of_next[None]

    return run, want


@repository.case(FOLDER + "compress.py", "_bit_spike_compress_triton", small=dict(n=1003), production=dict(n=1 << 27))  # fmt: skip
def packed(file, device, n):
    spikes = (torch.rand(n) < 0.3).float().to(device)
    count = -(-n // 8)

    def run():
        out = torch.empty(count, dtype=torch.uint8, device=device)
        file._bit_spike_compress_triton[lambda meta: (file.triton.cdiv(count, meta["BLOCK_SIZE"]),)](spikes, out, n, count)  # fmt: skip
        return out

    def want():
        padded = torch.nn.functional.pad(spikes, (0, count * 8 - n)).view(-1, 8).long()
        return (padded << torch.arange(8, device=device)).sum(-1)

    return run, want
