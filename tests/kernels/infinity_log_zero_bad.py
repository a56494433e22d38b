# The loss of a probability that is 0.
# CHECKS: nan
# EXPECT: infinity-born program=1,0,0 tensor=out_ptr element=1 count=1 severity=warning
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(p_ptr, label_ptr, out_ptr, CLASSES: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(label_ptr + row)
    p = tl.load(p_ptr + row * CLASSES + label)
    tl.store(out_ptr + row, -tl.log(p))  # <-- infinity-born


p = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
out = torch.zeros(2)
kernel[(2,)](p, torch.tensor([1, 1]), out, CLASSES=2)
