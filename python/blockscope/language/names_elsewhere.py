"""Names that kernels take from torch, NumPy and CUDA, and what to write in their place.

A name that the language lacks is often spelt right, but of something else: the name that is most
like it (``flip`` for ``clip``) then leads astray.
"""

_SHARED = "shared memory is the compiler's; tl.load gives a block, which is kept where it fits"
_BARRIER = "tl.debug_barrier waits for the warps of a program; between most ops none is needed"
_CAT = "tl.cat or tl.join put two blocks together"
_LANES = "a program computes whole blocks, whose lanes tl.arange numbers"
_RESHAPE = "write tl.reshape or tl.ravel"
_TRI = "write tl.where of rows[:, None] >= columns[None, :], both by tl.arange"

_INSTEAD = {
    "allocate_shared": _SHARED,
    "barrier": _BARRIER,
    "bf16": "write tl.bfloat16",
    "block_id": "write tl.program_id",
    "block_idx": "write tl.program_id",
    "clip": "write tl.clamp",
    "concat": _CAT,
    "concatenate": _CAT,
    "constant": "write tl.full",
    "flatten": _RESHAPE,
    "fp16": "write tl.float16",
    "fp32": "write tl.float32",
    "fp64": "write tl.float64",
    "gelu": "write it by tl.erf, or by libdevice.tanh",
    "matmul": "write tl.dot",
    "mean": "divide tl.sum by the number of elements",
    "ones": "write tl.full with the value 1",
    "ones_like": "write tl.full with the value 1",
    "recip": "write 1.0 / x",
    "reciprocal": "write 1.0 / x",
    "relu": "write tl.maximum(x, 0.0)",
    "shared_memory": _SHARED,
    "silu": "write x * tl.sigmoid(x)",
    "sync": _BARRIER,
    "syncthreads": _BARRIER,
    "thread_id": _LANES,
    "thread_idx": _LANES,
    "transpose": "write tl.trans",
    "tril": _TRI,
    "triu": _TRI,
    "unsqueeze": "write tl.expand_dims",
}


def instead_of(name: str) -> str:
    """``; write tl.clamp`` for ``clip``, or nothing."""
    return f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
