"""Inline assembly of users on the machine for PTX."""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from test_gpu_attention_machine import Program

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")


@triton.jit
def doubled(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    twice = tl.inline_asm_elementwise(
        "{\n.reg .b32 t;\nld.global.b32 t, [$1];\nadd.f32 $0, t, t;\n}",
        "=f,l", [x_ptr + at], dtype=tl.float32, is_pure=True, pack=1,
    )  # fmt: skip
    tl.store(out_ptr + at, twice)


def test_scopes_on_lines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x, out = torch.randn(32), torch.zeros(32)
    Program(doubled, (1,), (x, out), 1, 1, N=32).run()
    assert torch.equal(out, x + x)
