# The storage of a sharded weight is gathered again before the launch that uses it.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, weight_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    weight = tl.load(weight_ptr + i)
    tl.store(out_ptr + i, tl.load(x_ptr + i) * weight)


x, weight, out = torch.rand(256), torch.rand(256), torch.empty(256)
shard = weight[:64].clone()
weight.untyped_storage().resize_(0)
weight.untyped_storage().resize_(4 * 256)
weight.copy_(shard.repeat(4))
kernel[(4,)](x, weight, out, BLOCK=64)
