# Phase two reads what the neighbour wrote in phase one; between them there is a barrier of all
# programs.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, temp_ptr, out_ptr, arrived_ptr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(temp_ptr + pid * BLOCK + i, tl.load(x_ptr + pid * BLOCK + i) * 2)
    tl.debug_barrier()
    tl.atomic_add(arrived_ptr, 1, sem="release")
    while tl.atomic_add(arrived_ptr, 0, sem="acquire") < PROGRAMS:
        pass
    neighbour = (pid + 1) % PROGRAMS
    tl.store(out_ptr + pid * BLOCK + i, tl.load(temp_ptr + neighbour * BLOCK + i))


x, temp, out = torch.rand(128), torch.zeros(128), torch.zeros(128)
arrived = torch.zeros(1, dtype=torch.int32)
kernel[(4,)](x, temp, out, arrived, PROGRAMS=4, BLOCK=32)
