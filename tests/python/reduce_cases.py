"""Failing launches of real size for test_reduce.py: kernels of tests/kernels, and of the examples
with a mistake put into them.

Each row: name, file, what is replaced in it, the checks, and by what the script is run.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Case:
    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    checks: str
    code: str
    arguments: tuple[str, ...] = ()

    def source(self):
        text = (ROOT / self.file).read_text()
        for before, after in self.changes:
            assert before in text, (self.name, before)
            text = text.replace(before, after)
        return text


def bad(name, checks, code, *changes):
    return Case(name, f"tests/kernels/{name}_bad.py", changes, checks, code)


CASES = [
    bad("forgotten_mask_load", "asan", "oob-load",
        ("torch.arange(1000,", "torch.arange(1000003,"),
        ("kernel[(4,)](x, out, 1000, BLOCK=256)", "kernel[(977,)](x, out, 1000003, BLOCK=1024)")),
    bad("mask_less_equal", "asan", "oob-load",
        ("torch.rand(1000)", "torch.rand(1000000)"),
        ("kernel[(triton.cdiv(1000, 128),)](x, out, 1000, BLOCK=128)",
         "kernel[(1954,)](x, out, 1000000, BLOCK=512)")),
    bad("row_stride_of_slice", "asan", "outside-view",
        ("torch.rand(16, 128)", "torch.rand(2048, 1024)"), ("[:, :100]", "[:, :1000]"),
        ("torch.empty(16, 100)", "torch.empty(2048, 1000)"),
        ("kernel[(16,)](x, out, x.stride(0), 100, BLOCK=128)",
         "kernel[(2048,)](x, out, x.stride(0), 1000, BLOCK=1024)")),
    bad("tail_of_k", "asan", "oob-load",
        ("torch.rand(16, 100), torch.rand(100, 16), torch.empty(16, 16)",
         "torch.rand(64, 1000), torch.rand(1000, 64), torch.empty(64, 64)"),
        ("c, 100, N=16", "c, 1000, N=64")),
    bad("gather_index", "asan", "oob-load",
        ("torch.rand(100)", "torch.rand(1000000)"),
        ("torch.arange(0, 64, 4)", "torch.randint(0, 1000000, (4096,))"),
        ("index[5] = 100 ", "index[555] = 1000000 "), ("torch.empty(16)", "torch.empty(4096)"),
        ("out, 100, BLOCK=16", "out, 1000000, BLOCK=4096")),
    bad("histogram_last_bin", "asan", "oob-atomic",
        ("torch.tensor([0.0, 0.25, 0.5, 1.0, 0.75, 0.125, 0.05, 0.99])",
         "torch.cat([torch.rand(4095), torch.ones(1)])"),
        ("torch.zeros(10,", "torch.zeros(256,"), ("BINS=10, BLOCK=8", "BINS=256, BLOCK=4096")),
    bad("nan_softmax_overflow", "nan", "nan-born",
        ("torch.arange(32) * 4.0, torch.zeros(32)",
         "(torch.arange(64 * 2048) % 2048) * 0.1, torch.zeros(64 * 2048)"),
        ("kernel[(1,)](x, out, BLOCK=32)", "kernel[(64,)](x, out, BLOCK=2048)")),
    bad("split_k_plain_store", "tsan", "race-write-write",
        ("torch.rand(16, 64), torch.rand(64, 16), torch.zeros(16, 16)",
         "torch.rand(64, 4096), torch.rand(4096, 64), torch.zeros(64, 64)"),
        ("kernel[(1, 2)](a, b, c, 64, N=16,", "kernel[(1, 128)](a, b, c, 4096, N=64,")),
    bad("undefined_dot_tail", "undefined", "undefined-value",
        ("torch.rand(16, 40), torch.rand(40, 16), torch.empty(16, 16)",
         "torch.rand(64, 1000), torch.rand(1000, 64), torch.empty(64, 64)"),
        ("c, 40, N=16, K=32", "c, 1000, N=64, K=64")),
    bad("csr_row_end", "asan", "oob-load",
        ("torch.arange(0, 30, 3,", "torch.arange(0, 60000, 3,"),
        ("torch.rand(30)", "torch.rand(60000)"),
        ("torch.empty(10)", "torch.empty(20000)"), ("kernel[(10,)]", "kernel[(20000,)]")),
    bad("infinity_half_sum", "nan", "infinity-born",
        ("torch.full((3, 100), 500.0), torch.zeros(3,",
         "torch.full((512, 1000), 50.0), torch.zeros(512,"),
        ("x[2] =", "x[500] ="), ("kernel[(3,)](x, out, 100, BLOCK=128)",
                                 "kernel[(512,)](x, out, 1000, BLOCK=1024)")),
    bad("lock_never_released", "tsan", "deadlock",
        ("torch.tensor([0.0, 0.0, 0.0, 0.0])", "torch.zeros(64)"),
        ("kernel[(4,)]", "kernel[(64,)]")),
    Case("matmul", "examples/matmul.py",
         ((" & left[None, :], other=0.0)", ", other=0.0)"),), "asan", "oob-load",
         ("--only", "fp32 odd", "--size", "512")),
    Case("layer_norm", "examples/layer_norm.py",
         (("weight_ptr + columns, mask=inside, other=0.0)", "weight_ptr + columns)"),),
         "asan", "oob-load", ("--only", "fp32")),
    Case("attention", "examples/attention.py",
         (("            mask=inside[:, None],\n", ""),
          ("            other=0.0,\n        )\n        out =",
                                                         "        )\n        out =")),
         "asan", "oob-load", ("--size", "200")),
]  # fmt: skip
