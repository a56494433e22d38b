# A function that takes the lock is called by a program that has it.
# CHECKS: tsan
# EXPECT: deadlock program=0,0,0 tensor=lock_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def take(lock_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:  # <-- deadlock
        pass


@triton.jit
def give_back(lock_ptr):
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def add(sum_ptr, x, lock_ptr):
    take(lock_ptr)
    tl.store(sum_ptr, tl.load(sum_ptr) + x)
    give_back(lock_ptr)


@triton.jit
def kernel(x_ptr, most_ptr, sum_ptr, lock_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    take(lock_ptr)
    if x > tl.load(most_ptr):
        tl.store(most_ptr, x)
        add(sum_ptr, x, lock_ptr)
    give_back(lock_ptr)


x, lock = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(1, dtype=torch.int32)
kernel[(3,)](x, torch.zeros(1), torch.zeros(1), lock)
