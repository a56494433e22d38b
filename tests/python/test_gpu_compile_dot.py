"""Dots compiled for GPUs, without one: which instructions they become, that ptxas has nothing
to say about them, and that no register is spilled.
"""

import re
import sys
from pathlib import Path

import blockscope as triton
import blockscope.language as tl
import pytest
from blockscope import _core

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

ARCHITECTURES = [80, 89, 90, 100]


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, k, a_row, b_row, c_row,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    steps = tl.arange(0, K)
    a_block = a_ptr + rows[:, None] * a_row + steps[None, :]
    b_block = b_ptr + steps[:, None] * b_row + columns[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, k, K):
        total = tl.dot(tl.load(a_block), tl.load(b_block), total, input_precision=PRECISION)
        a_block += K
        b_block += K * b_row
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :], total.to(c_ptr.dtype.element_ty))


def compiled(kernel, *args, arch, spills=0, **options):
    made = kernel.warmup(*args, grid=(1,), arch=arch, **options)
    assert made.n_spills <= spills
    assert made.warnings == []
    return made.asm["ptx"]


def matmul(dtype, arch, blocks=(64, 64, 32), warps=4, stages=3, precision="tf32"):
    a = torch.zeros(512, 512, dtype=torch.float32).to(dtype)
    c = torch.zeros(512, 512, dtype=torch.float32 if dtype == torch.float32 else torch.float16)
    return compiled(matmul_kernel, a, a, c, 512, 512, 512, 512, *blocks, precision, arch=arch,
                    num_warps=warps, num_stages=stages)  # fmt: skip


def count(ptx, pattern):
    return len(re.findall(pattern, ptx))


@pytest.mark.parametrize("warps", [4, 8])
def test_descriptors_of_warpgroups_are_uniform(warps):
    """By a shuffle ptxas knows that the number of a warp is one number."""
    ptx = matmul(torch.float16, 90, blocks=(128, 64, 64), warps=warps)
    before, _, after = ptx.partition("wgmma.mma_async")
    assert after and count(before, r"shfl\.sync\.idx") == (warps == 8)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    "dtype, name", [(torch.float16, "f16"), (torch.bfloat16, "bf16"), (torch.float32, "tf32")]
)
def test_tensor_cores(dtype, name, arch):
    ptx = matmul(dtype, arch)
    if arch == 90:
        depth = 32 // dtype.itemsize
        assert f"wgmma.mma_async.sync.aligned.m64n64k{depth}.f32.{name}.{name}" in ptx
        assert "mma.sync" not in ptx
    else:
        assert re.search(rf"mma\.sync\.aligned\.m16n8k\d+\.row\.col\.f32\.{name}\.{name}\.f32", ptx)
    assert count(ptx, r"cp\.async\.cg") > 0


@triton.jit
def scaled_sum_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, a_row, b_column, c_row, alpha, beta,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    steps = tl.arange(0, K)
    a_block = a_ptr + rows[:, None] * a_row + steps[None, :]
    b_block = b_ptr + steps[:, None] + columns[None, :] * b_column
    total = tl.zeros((M, N), dtype=tl.float32)
    for i in range(tl.cdiv(k, K)):
        a = tl.load(a_block, mask=steps[None, :] < k - i * K, other=0.0)
        b = tl.load(b_block, mask=steps[:, None] < k - i * K, other=0.0)
        total = tl.dot(a, b, total)
        a_block += K
        b_block += K
    at = c_ptr + rows[:, None] * c_row + columns[None, :]
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    old = tl.load(at, mask=inside)
    tl.store(at, alpha * total.to(tl.float16) + beta * old, mask=inside)


@pytest.mark.parametrize("arch", [80, 90])
def test_copies_have_predicates_for_masks(arch):
    """A number of bytes would be made for each mask, and a predicate of it for each copy."""
    x = torch.zeros(512, 512, dtype=torch.float16)
    ptx = compiled(scaled_sum_kernel, x, x, x, 512, 512, 496, 512, 512, 512, 0.5, 2.0, 64, 64, 64,
                   arch=arch)  # fmt: skip
    copies = re.findall(r"cp\.async\.cg[^;]*;", ptx)
    assert copies and all(re.search(r", 16, %p\d+;", copy) for copy in copies)


def test_waits_come_first_behind_loops():
    """Else ptxas may run every wgmma of the loop by itself (C7514), and says so."""
    x = torch.zeros(512, 512, dtype=torch.float16)
    ptx = compiled(
        scaled_sum_kernel, x, x, x, 512, 512, 512, 512, 512, 512, 0.5, 2.0, 128, 128, 64,
        arch=90, num_warps=4, num_stages=3,
    )  # fmt: skip
    behind = r"bra[^\n]*\n\$L__BB\w+:[^\n]*\n\s*// begin inline asm\n\s*wgmma.wait_group"
    assert count(ptx, behind) == 1


@triton.jit
def partial_attention_kernel(q_ptr, k_ptr, v_ptr, sum_ptr, out_ptr, keys, blocks,
                             M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):  # fmt: skip
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        q = tl.load(q_ptr + (block * M + rows)[:, None] * D + depth[None, :])
        most = tl.full((M,), float("-inf"), tl.float32)
        sums = tl.zeros((M,), tl.float32)
        total = tl.zeros((M, D), tl.float32)
        for start in range(0, keys, N):
            k = tl.load(k_ptr + (start + columns)[None, :] * D + depth[:, None])
            scores = tl.dot(q, k)
            new = tl.maximum(most, tl.max(scores, 1))
            scale = tl.exp(most - new)
            weights = tl.exp(scores - new[:, None]).to(tl.float16)
            sums = sums * scale + tl.sum(weights, 1)
            most = new
            v = tl.load(v_ptr + (start + columns)[:, None] * D + depth[None, :])
            total = tl.dot(weights, v, total * scale[:, None])
        tl.store(sum_ptr + block * M + rows, sums)
        tl.store(out_ptr + (block * M + rows)[:, None] * D + depth[None, :], total)


@pytest.mark.parametrize("stages", [1, 3])
def test_sums_begin_with_constants_of_their_own(stages):
    """Else LLVM copies all from one register, which may become that of one sum behind the loop,
    where the last dot is: ptxas has no row of registers for both then (C7511)."""
    x, sums, out = torch.zeros(512, 128).half(), torch.zeros(512), torch.zeros(512, 128)
    ptx = compiled(
        partial_attention_kernel, x, x, x, sums, out, 512, 8, 64, 32, 128,
        arch=90, num_warps=4, num_stages=stages,
    )  # fmt: skip
    rows = set(re.findall(r"wgmma\.mma_async\S*m64n128k16\S* {([^}]*)}", ptx))
    assert len(rows) == 1
    for register in rows.pop().split(", "):
        assert count(ptx, rf"mov\.b32 {register}, 0x00000000;") == 1


@pytest.mark.parametrize(
    ("tile", "warps", "is_later"),
    [
        ((64, 64, 128), 4, True),  # 32 + 64 registers of sums, 16 of weights
        ((128, 64, 128), 4, True),  # 64 + 128, 32
        ((128, 128, 64), 4, False),  # 128 + 64, 64: as many as there are
        ((128, 128, 64), 8, True),
    ],
)
def test_a_dot_is_delayed_where_a_thread_has_the_registers(tile, warps, is_later):
    x, sums, out = torch.zeros(512, 128).half(), torch.zeros(512), torch.zeros(512, 128)
    made = partial_attention_kernel.warmup(
        x, x, x, sums, out, 512, 4, *tile, grid=(1,), arch=90, num_warps=warps, num_stages=2
    )
    assert ("an iteration later, beside" in made.asm["plan"]) == is_later


@triton.jit
def gate_and_up_kernel(
    x_ptr, g_ptr, u_ptr, y_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    gate = tl.zeros((M, N), dtype=tl.float32)
    up = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        x = tl.load(x_ptr + rows[:, None] * 512 + (start + steps)[None, :])
        at = (start + steps)[:, None] * 512 + columns[None, :]
        gate = tl.dot(x, tl.load(g_ptr + at), gate)
        up = tl.dot(x, tl.load(u_ptr + at), up)
    tl.store(y_ptr + rows[:, None] * 512 + columns[None, :], (gate * up).to(tl.float16))


def test_dots_of_one_loaded_operand_begin_together():
    x = torch.zeros(512, 512, dtype=torch.float16)
    made = gate_and_up_kernel.warmup(
        x, x, x, x, 512, 64, 64, 64, grid=(1,), arch=90, num_warps=4, num_stages=3
    )
    assert "an iteration later" not in made.asm["plan"]
    assert made.asm["tlg"].count("tlg.wgmma_wait 2") == 1  # both of the iteration before


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_stages(stages, arch):
    ptx = matmul(torch.float16, arch, (128, 128, 32), 4, stages)
    groups = count(ptx, r"cp\.async\.commit_group")
    if stages == 4 and arch == 89:  # three buffers: two CTAs have room
        stages = 3
    assert groups == (2 if stages == 1 else stages)  # with one stage, one for each operand
    if stages > 1:
        assert f"cp.async.wait_group {stages - 2};" in ptx
        if arch != 90:
            assert "ldmatrix.sync.aligned.m8n8.x4.shared" in ptx
            assert "ldmatrix.sync.aligned.m8n8.x4.trans.shared" in ptx


def test_large_tile_of_warpgroups():
    ptx = matmul(torch.float16, 90, (128, 256, 64), 8, 3)
    assert count(ptx, r"wgmma\.mma_async\.sync\.aligned\.m64n256k16\.f32\.f16\.f16") == 4
    assert "wgmma.wait_group.sync.aligned 1;" in ptx  # one group goes on into the next iteration
    assert "wgmma.wait_group.sync.aligned 0;" in ptx


def test_more_sums_than_registers_are_added_to_tile_by_tile():
    """Each tile's sums come from memory once in an iteration, not for each step."""
    a, c = torch.zeros(512, 512, dtype=torch.float16), torch.zeros(512, 512, dtype=torch.float16)
    kernel = matmul_kernel.warmup(
        a, a, c, 512, 512, 512, 512, 128, 256, 64, "tf32", grid=(1,), arch=90, num_warps=4
    )
    dots = re.findall(r"wgmma\.mma_async[^{]*\{(%\w+)", kernel.asm["ptx"])
    assert len(dots) == 8 and [dots.index(sums) for sums in dots] == [0] * 4 + [4] * 4
    assert kernel.n_spills < 1000  # step by step there were 1682


@triton.jit
def plain_kernel(a_ptr, c_ptr, N: tl.constexpr):
    block = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + block)
    tl.store(c_ptr + block, tl.dot(a, a))


@pytest.mark.parametrize("asked", [None, "ieee", "tf32x3"])
def test_precision_when_the_kernel_does_not_say(asked, monkeypatch):
    monkeypatch.delenv("TRITON_F32_DEFAULT", raising=False)
    if asked is not None:
        monkeypatch.setenv("TRITON_F32_DEFAULT", asked)
    a = torch.zeros(32, 32)
    text = plain_kernel.warmup(a, a, 32, grid=(1,), arch="sm_90a").asm["tl"]
    assert f'input_precision = "{asked or "tf32"}"' in text or (
        asked == "ieee" and "tf32" not in text
    )


@triton.jit
def chosen_tf32_kernel(a_ptr, c_ptr, N: tl.constexpr, FAST: tl.constexpr, IS_KEPT: tl.constexpr):
    block = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + block)
    if IS_KEPT:
        is_fast = FAST
        tl.store(c_ptr + block, tl.dot(a, a, allow_tf32=is_fast))
    else:
        tl.store(c_ptr + block, tl.dot(a, a, allow_tf32=FAST))


@pytest.mark.parametrize("is_fast", [False, True])
@pytest.mark.parametrize("is_kept", [False, True])
def test_allow_tf32_of_a_constant_and_of_a_variable(is_kept, is_fast):
    """A variable holds a tensor, which counts as true, whatever its value, as in Triton."""
    a = torch.zeros(32, 32)
    text = chosen_tf32_kernel.warmup(a, a, 32, is_fast, is_kept, grid=(1,), arch="sm_90a").asm["tl"]
    assert ('input_precision = "tf32"' in text) == (is_fast or is_kept)


@triton.jit
def masked_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, a_row, b_column,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Stores are masked, b lies column by column."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    steps = tl.arange(0, K)
    a_block = a_ptr + rows[:, None] * a_row + steps[None, :]
    b_block = b_ptr + steps[:, None] + columns[None, :] * b_column
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, k, K):
        total = tl.dot(tl.load(a_block), tl.load(b_block), total)
        a_block += K
        b_block += K
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total, mask=inside)


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_a_loop_that_may_be_skipped(warps, stages):
    """Sums of a skipped loop must not be written where dots of the loop still run (C7515). One of
    the kernels has 12 words on the stack, for which a third CTA runs (makeRoomForWarps)."""
    a, c = torch.zeros(512, 512, dtype=torch.float16), torch.zeros(512, 512)
    spills = 16 if (warps, stages) == (4, 2) else 0
    compiled(masked_kernel, a, a, c, 512, 512, 512, 512, 512, M=128, N=128, K=64, arch=90,
             num_warps=warps, num_stages=stages, spills=spills)  # fmt: skip


def test_fp32_is_exact_unless_asked():
    ptx = matmul(torch.float32, 80, precision="ieee")
    assert "mma.sync" not in ptx
    assert "fma.rn.f32" in ptx


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("head", [64, 128])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal, head, arch):
    from attention import attention_kernel

    kernel = attention_kernel
    if not hasattr(kernel, "warmup"):
        pytest.skip("examples were loaded with another triton")
    q = torch.zeros(2, 256, head, dtype=torch.float16)
    lse = torch.zeros(2, 256)
    warps = 8 if head == 128 else 4
    ptx = compiled(kernel, q, q, q, q, lse, 256 * head, head, 256, 0.1, HEAD=head,
                   BLOCK_M=128 if head == 128 else 64, BLOCK_N=64, CAUSAL=causal, arch=arch,
                   num_warps=warps, num_stages=2)  # fmt: skip
    assert ("wgmma.mma_async" if arch == 90 else "mma.sync") in ptx
    assert "cp.async" in ptx


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_matmul_example(arch):
    from matmul import identity, leaky_relu
    from matmul import matmul_kernel as example

    a = torch.zeros(256, 256, dtype=torch.float16)
    for activation in (identity, leaky_relu):
        ptx = compiled(example, a, a, a, 256, 256, 256, 256, 1, 256, 1, 256, 1, BLOCK_M=64,
                       BLOCK_N=64, BLOCK_K=32, GROUP=4, PRECISION="ieee", ACTIVATION=activation,
                       arch=arch)  # fmt: skip
        assert ("wgmma.mma_async" if arch == 90 else "mma.sync") in ptx


@pytest.mark.parametrize("target", _core.gpu.targets(), ids=lambda target: target["arch"])
def test_every_target_assembles_and_is_in_the_docs(target):
    name = target["arch"]
    assert re.search(rf"^\.target {name}\b", matmul(torch.float16, name), re.M)
    page = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text(encoding="utf-8")
    table = page.split("## What each GPU gets")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| sm_")]
    assert len(rows) > 3
    assert any(re.search(rf"\b{name}\b", row) for row in rows), (
        f"{name} is missing in the table 'What each GPU gets' of docs/gpu.md"
    )


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("precision", ["tf32", "tf32x3"])
def test_fp32_goes_to_tensor_cores_as_it_is(precision, size, arch):
    """They ignore the bits that tf32 lacks."""
    ptx = matmul(torch.float32, arch, (size, size, 32), precision=precision)
    assert "tf32" in ptx
    assert "cvt.rna" not in ptx


@triton.jit
def biased_attention_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, n, BIAS_FIRST: tl.constexpr, PRECISION: tl.constexpr
):
    """`BIAS_FIRST`: the dot's sums begin with the bias."""
    rows, steps = tl.arange(0, 64), tl.arange(0, 64)
    q = tl.load(q_ptr + rows[:, None] * 64 + steps[None, :])
    total, sizes = tl.zeros((64, 64), tl.float32), tl.zeros((64,), tl.float32)
    for start in range(0, n, 64):
        at = start + tl.arange(0, 64)
        k = tl.load(k_ptr + at[:, None] * 64 + steps[None, :])
        bias = tl.load(bias_ptr + rows[:, None] * n + at[None, :])
        if BIAS_FIRST:
            p = tl.exp2(tl.dot(q, k.T, bias.to(tl.float32), input_precision=PRECISION))
        else:
            p = tl.exp2(tl.dot(q, k.T, input_precision=PRECISION) + bias)
        sizes += tl.sum(p, 1)
        v = tl.load(v_ptr + at[:, None] * 64 + steps[None, :])
        total = tl.dot(p.to(v.dtype), v, total, input_precision=PRECISION)
    tl.store(out_ptr + rows[:, None] * 64 + steps[None, :], total / sizes[:, None])


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("bias_first", [False, True])
@pytest.mark.parametrize(
    "dtype, precision", [(torch.float16, "tf32"), (torch.float32, "tf32"), (torch.float32, "ieee")]
)
def test_tiles_beside_dots_are_copied_early(dtype, precision, bias_first, arch):
    x = torch.zeros(64, 64, dtype=dtype)
    out = torch.zeros(64, 64)
    made = biased_attention_kernel.warmup(x, x, x, x, out, 256, bias_first, precision, grid=(1,),
                                          arch=arch, num_stages=2)  # fmt: skip
    assert made.asm["plan"].count("cp.async") == 3
    # They are read in the layout of the sums that they are added to; what goes into the second dot
    # changes places within threads.
    loop = re.search(r"scf\.for.*scf\.yield", made.asm["ttgir"], re.DOTALL).group()
    converted = re.findall(r"convert_layout.*-> tensor<64x64xf32,", loop)
    assert len(converted) <= (dtype == torch.float32 and precision == "tf32")


@triton.jit
def delta_rule_kernel(k_ptr, v_ptr, w_ptr, state_ptr, n):
    """What a dot gives is taken from what is loaded, for the next dot."""
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    state = tl.load(state_ptr + rows * 64 + columns)
    for start in range(0, n, 64):
        at = (start + rows) * 64 + columns
        v = tl.load(v_ptr + at)
        v = v.to(tl.float32) - tl.dot(tl.load(w_ptr + at), state.to(v.dtype))
        k = tl.load(k_ptr + at)
        state = state * 0.5 + tl.dot(k.T, v.to(k.dtype))
    tl.store(state_ptr + rows * 64 + columns, state)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_sums_stay_where_they_are_in_a_loop(arch):
    x, state = torch.zeros(64, 64, dtype=torch.bfloat16), torch.zeros(64, 64)
    made = delta_rule_kernel.warmup(x, x, x, state, 256, grid=(1,), arch=arch, num_stages=2)
    loop = re.search(r"scf\.for.*scf\.yield", made.asm["ttgir"], re.DOTALL).group()
    assert not re.findall(r"convert_layout.*64x64xf32", loop)


@triton.jit
def linear_attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n):
    i = tl.arange(0, 32)
    state = tl.zeros((32, 32), tl.float32)
    for start in range(0, n, 32):
        at = (start + i)[:, None] * 32 + i[None, :]
        q, k, v = tl.load(q_ptr + at), tl.load(k_ptr + at), tl.load(v_ptr + at)
        scores = tl.where(i[:, None] >= i[None, :], tl.dot(q, k.T, input_precision="ieee"), 0.0)
        out = tl.dot(scores, v, input_precision="ieee") + tl.dot(q, state, input_precision="ieee")
        state += tl.dot(k.T, v, input_precision="ieee")
        tl.store(out_ptr + at, out)


def test_sums_of_dots_by_threads_keep_the_layouts_of_their_operands():
    """In one layout they took 255 registers and spilled."""
    x = torch.zeros(256, 32)
    compiled(linear_attention_kernel, x, x, x, x.clone(), 256, arch="sm_90a", num_stages=2)


@triton.jit
def added_up_kernel(a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), c_ptr.dtype.element_ty)
    for start in range(0, k, K):
        a = tl.load(a_ptr + rows[:, None] * k + start + steps[None, :])
        b = tl.load(b_ptr + (start + steps)[:, None] * N + columns[None, :])
        total += tl.dot(a, b, input_precision="ieee", out_dtype=c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_threads_multiply_begins_with_the_sums_of_its_loop(dtype, arch):
    """Sums of their own took as many registers again, so that fewer CTAs ran."""
    x = torch.zeros(128, 128, dtype=dtype)
    made = added_up_kernel.warmup(x, x, x, 128, 64, 128, 32, grid=(1,), arch=arch)
    assert "arith.addf" not in made.asm["tlg"]
    assert ("tlg.fma" in made.asm["tlg"]) == (dtype == torch.float32)
    assert made.n_spills == 0


@pytest.mark.parametrize("arch", [80, 90])
def test_rows_for_dots_by_threads_lie_one_after_another(arch):
    """Lanes read neighbours of a row: with a swizzle each row took an instruction more."""
    x = torch.zeros(512, 512)
    sizes = {"M": 64, "N": 128, "K": 32, "PRECISION": "ieee"}
    made = matmul_kernel.warmup(x, x, x, 512, 512, 512, 512, **sizes, grid=(1,), arch=arch)
    offsets = [int(at) for at in re.findall(r"\[32, 128\], f32, offsets = \[([\d, ]+)\]",
                                            made.asm["tlg"])[0].split(", ")]  # fmt: skip
    assert offsets == [4 << bit for bit in range(12)]
    assert not [note for note in made.notes if note["code"] == "bank-conflict"]


@triton.jit
def transposed_left_kernel(
    a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr
):
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), OUT)
    for start in range(0, k, K):
        a = tl.load(a_ptr + (start + steps)[:, None] * M + rows[None, :]).T
        b = tl.load(b_ptr + columns[:, None] * k + (start + steps)[None, :]).T
        total = tl.dot(a, b, total, input_precision="tf32")
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


@pytest.mark.parametrize(
    "dtype, out",
    [
        (torch.int8, tl.int32),
        (torch.float8_e4m3fn, tl.float32),
        (torch.float32, tl.float32),
        (torch.bfloat16, tl.float32),
    ],
)
def test_wgmma_reads_only_2_bytes_along_rows(dtype, out):
    """The loop has the left operand in shared memory along M; wgmma needs it along K: threads move
    it there in wide pieces."""
    a = torch.zeros(192, 64).to(dtype)
    c = torch.zeros(64, 64, dtype=torch.int32 if out == tl.int32 else torch.float32)
    ptx = compiled(transposed_left_kernel, a, a, c, 192, 64, 64, 64, out, arch="sm_90a")
    assert "cp.async" in ptx
    assert "wgmma.mma_async" in ptx
    assert not re.search(r"st\.shared\.(b8|b16|b32) ", ptx)
    pieces = ["ldmatrix.sync.aligned.m8n8.x4.trans", "stmatrix.sync.aligned.m8n8.x4"]
    if dtype.itemsize == 4:
        pieces = ["ld.shared.v4.b32", "st.shared.v4.b32"]
    assert all((piece in ptx) == (dtype.itemsize != 2) for piece in pieces)
