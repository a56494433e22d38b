# The output is a NumPy array that may be written.
import numpy as np
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


x = np.arange(64, dtype=np.float32)
out = np.zeros(64, dtype=np.float32)
out.flags.writeable = True
kernel[(1,)](x, out, BLOCK=64)
