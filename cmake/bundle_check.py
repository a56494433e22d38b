"""Says whether Blockscope works here: imports it, compiles a kernel, runs it if there is a GPU."""

import platform

import blockscope
import blockscope.language as tl
from blockscope import _core


@blockscope.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def main():
    print(f"blockscope {blockscope.__version__}, Python {platform.python_version()}")
    tensors = [tl.float32] * 3  # a dtype stands for a tensor of it
    kernel = add_kernel.warmup(*tensors, 1000, BLOCK=1024, grid=(1,), arch="sm_90a")
    print(f"vector add for sm_90a: {kernel.n_regs} registers, {len(kernel.kernel)} bytes")
    reason = _core.gpu.why_unavailable()
    if reason is not None:
        print(f"not run: {reason}")
        return
    import torch

    x, y = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda")
    out = torch.empty_like(x)
    add_kernel[(1,)](x, y, out, 1000, BLOCK=1024)
    assert torch.equal(out, x + y), "vector add gives wrong sums"
    print(f"vector add is right on {torch.cuda.get_device_name()}")


if __name__ == "__main__":
    main()
