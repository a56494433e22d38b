"""nano-triton-kernel: solutions of leetgpu and tensara, each a file with a function ``solve``."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "JackeyLove1/nano-triton-kernel", "4a31eb4ee017b19c3b6618a5eef1986296437978"
)
MANY = dict(n=3000), dict(n=1 << 24)
MATRIX = dict(m=70, n=90), dict(m=8192, n=8192)


def solution(file, kernels, small, production, function="solve", name="", **options):
    """A case from a function ``(device, **sizes)`` that gives the arguments of ``solve``, the place
    of its result among them, and what is right."""

    def decorate(make):
        def build(module, device, **sizes):
            args, place, want = make(device, **sizes)

            def run():
                given = [x.clone() if isinstance(x, torch.Tensor) else x for x in args]
                getattr(module, function)(*given)
                return given[place]

            return run, want

        return repository.case(
            f"{file}.py", kernels, small=small, production=production,
            name=name or make.__name__.strip("_"), **options,
        )(build)  # fmt: skip

    return decorate


@solution("basic/10_rainbow_table", "fnv1a_hash_kernel, fnv1a_hash", dict(n=1500, r=3), dict(n=1 << 22, r=50))  # fmt: skip
def rainbow_table(device, n, r):
    x = tm.integers(0, 1 << 31, n, device=device, dtype=torch.int32)

    def want():
        y = x.cpu().long() & 0xFFFFFFFF
        for _ in range(r):
            h = torch.full_like(y, 2166136261)
            for byte in range(4):
                h = ((h ^ (y >> 8 * byte & 255)) * 16777619) & 0xFFFFFFFF
            y = h
        return torch.where(y >= 1 << 31, y - (1 << 32), y)

    return (x, torch.zeros_like(x), n, r), 1, want


@solution("basic/11_matrix_copy", "matrix_copy_kernel_block", dict(n=300), dict(n=8192), "solve_block")  # fmt: skip
def copy_in_tiles(device, n):
    x = tm.normal(n, n, device=device)
    return (x, torch.empty_like(x), n), 1, lambda: x


@solution("basic/11_matrix_copy", "matrix_copy_kernel_1d", dict(n=70), dict(n=8192))
def copy_flat(device, n):
    x = tm.normal(n, n, device=device)
    return (x, torch.empty_like(x), n), 1, lambda: x


@solution("basic/12_count_array_elements", "count_equal_kernel", *MANY)
def count(device, n):
    x = tm.integers(0, 10, n, device=device, dtype=torch.int32)
    return (x, x.new_zeros(1), n, 3), 1, lambda: (x == 3).sum()[None]


def _counts(function, kernel):
    @solution("basic/13_copy_2d_array", kernel, *MATRIX, function, f"count_2d_{function}")
    def make(device, m, n):
        x = tm.integers(0, 10, m, n, device=device, dtype=torch.int32)
        return (x, x.new_zeros(1), m, n, 3), 1, lambda: (x == 3).sum()[None]


_counts("solve_1d", "count_array_1d")
_counts("solve_block", "count_array_block")


@solution("basic/14_silu", "silu_kernel", *MANY)
def silu(device, n):
    x = tm.normal(n, device=device)
    return (x, torch.empty_like(x), n), 1, lambda: F.silu(x.double())


@solution("basic/15_swiglu", "swiglu", *MANY)
def swiglu(device, n):
    x = tm.normal(n, device=device)
    return (x, x.new_empty(n // 2), n), 1, lambda: tm.silu_mul(x)


def _products(function, kernel, small, production):
    @solution("basic/16_matmul", kernel, small, production, function, f"matmul_{function}", rtol=1e-4, atol=1e-4)  # fmt: skip
    def make(device, m, n, k):
        a, b = tm.normal(m, n, device=device), tm.normal(n, k, device=device)
        return (a, b, a.new_empty(m, k), m, n, k), 2, lambda: a.double() @ b.double()


_products("solve_1", "matrix_multiplication_kernel_1", dict(m=13, n=300, k=7), dict(m=1024, n=1024, k=1024))  # fmt: skip
_products("solve", "matrix_multiplication_kernel", dict(m=150, n=128, k=70), dict(m=4096, n=4096, k=4096))  # fmt: skip


@solution("basic/4_matrix_transpose", "matrix_transpose_kernel_1d", dict(m=20, n=13), dict(m=2048, n=2048), "solve_1d")  # fmt: skip
def transpose_elements(device, m, n):
    x = tm.normal(m, n, device=device)
    return (x, x.new_empty(n, m), m, n), 1, lambda: x.T


@repository.case("basic/4_matrix_transpose.py", "matrix_transpose_kernel_triton_block", small=MATRIX[0], production=MATRIX[1])  # fmt: skip
def transpose_tiles(file, device, m, n):
    """Its own function calls the kernel by a name that does not exist."""
    x = tm.normal(m, n, device=device)

    def run():
        y = x.new_empty(n, m)
        grid = (-(-m // 64), -(-n // 64))
        file.matrix_transpose_kernel_triton_block[grid](x, y, m, n, n, 1, m, 1, BLOCK_SIZE=64)
        return y

    return run, lambda: x.T


def _conv1d(function, kernel):
    @solution("basic/6_1d_convolution", kernel, dict(n=3000, k=13), dict(n=1 << 22, k=31), function, f"conv1d_{function}")  # fmt: skip
    def make(device, n, k):
        x, w = tm.normal(n, device=device), tm.normal(k, device=device)
        return (x, w, x.new_empty(n - k + 1), n, k), 2, lambda: F.conv1d(x.double()[None, None], w.double()[None, None])[0, 0]  # fmt: skip


_conv1d("solve_1", "conv1d_kernel_1")
_conv1d("solve_2", "conv1d_kernel_2")


@solution("basic/7_reverse_array", "reverse_kernel", *MANY)
def reverse(device, n):
    x = tm.normal(n, device=device)
    return (x, n), 0, lambda: x.flip(0)


@solution("basic/9_leaky_relu", "leaky_relu_kernel", *MANY)
def leaky_relu(device, n):
    x = tm.normal(n, device=device)
    return (x, torch.empty_like(x), n), 1, lambda: F.leaky_relu(x.double(), 0.01)


@solution("basic/5_color_inversion", "invert_kernel", dict(w=30, h=41), dict(w=4096, h=4096))
def invert_colours(device, w, h):
    x = tm.integers(0, 256, w * h * 4, device=device, dtype=torch.uint8)

    def want():
        y = 255 - x.view(-1, 4)
        y[:, 3] = x.view(-1, 4)[:, 3]
        return y.flatten()

    return (x, w, h), 0, want


@solution("medium/1_reduction", "reduce_sum_kernel", *MANY, rtol=1e-4, atol=1e-2)
def reduction(device, n):
    x = tm.normal(n, device=device)
    return (x, x.new_zeros(1), n), 1, lambda: x.double().sum()[None]


@solution("medium/7_prefix_sum", "prefix_sum_stage1, prefix_sum_stage2", *MANY, rtol=1e-3, atol=1e-2)  # fmt: skip
def prefix_sum(device, n):
    x = tm.normal(n, device=device)
    return (x, torch.empty_like(x), n), 1, lambda: x.double().cumsum(0)


@solution("medium/8_dot_product", "dot_kernel", *MANY, rtol=1e-4, atol=1e-2)
def dot_product(device, n):
    a, b = tm.normal(n, device=device), tm.normal(n, device=device)
    return (a, b, a.new_zeros(1), n), 2, lambda: (a.double() @ b.double())[None]


@solution("medium/9_sparse_matmul", "spmv_kernel", *MATRIX, rtol=1e-4, atol=1e-4)
def matrix_times_vector(device, m, n):
    a, x = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return (a, x, a.new_empty(m), m, n, 0), 2, lambda: a.double() @ x.double()


@solution("medium/5_Histogramming", "histogram_kernel1", *MANY, function="solve1")
def histogram(device, n):
    x = tm.integers(-3, 70, n, device=device, dtype=torch.int32)
    return (x, x.new_zeros(64), n, 64), 1, lambda: x[(x >= 0) & (x < 64)].bincount(minlength=64)


@solution("medium/6_sorting", "_bitonic_step", dict(n=3000), dict(n=1 << 20))
def sorting(device, n):
    x = tm.normal(n, device=device)
    return (x, n), 0, lambda: x.sort().values


@solution("medium/2_safe_softmax", "max_kernel, exp_sum_kernel, softmax_kernel", *MANY)
def softmax_by_items(device, n):
    x = tm.normal(n, device=device)
    return (x, torch.empty_like(x), n), 1, lambda: x.double().softmax(0)


@solution("medium/2_safe_softmax", "reduce_max_kernel, reduce_sum_kernel, softmax_write_kernel", *MANY, function="solve2")  # fmt: skip
def softmax_by_pointers(device, n):
    x = tm.normal(n, device=device)
    return (x, torch.empty_like(x), n), 1, lambda: x.double().softmax(0)


@solution("medium/10_gemm", "gemm_kernel", dict(m=150, n=70, k=100), dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-1)  # fmt: skip
def gemm(device, m, n, k):
    a, b, c = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, k), (k, n), (m, n)))
    return (a, b, c, m, n, k, 1.5, 0.5), 2, lambda: 1.5 * (a.double() @ b.double()) + 0.5 * c.double()  # fmt: skip


@solution("medium/12_mse", "mse_kernel", *MANY, rtol=1e-4)
def mse(device, n):
    a, b = tm.normal(n, device=device), tm.normal(n, device=device)
    return (a, b, a.new_zeros(1), n), 2, lambda: F.mse_loss(a.double(), b.double())[None]


@solution("medium/14_max_subarray_sum", "prefix_sum_stage1, prefix_sum_stage2, max_windows_sum_kernel", dict(n=3000, w=40), dict(n=1 << 22, w=1000), "solve1", rtol=1e-3, atol=1e-2)  # fmt: skip
def window_by_prefix_sums(device, n, w):
    """Of sums up to each place it takes none before the first: the first window is left out."""
    x = tm.normal(n, device=device)
    return (x, x.new_full((1,), float("-inf")), n, w), 1, lambda: x.double()[1:].unfold(0, w, 1).sum(-1).max()[None]  # fmt: skip


@solution("medium/14_max_subarray_sum", "max_subarray_sum_kernel1", dict(n=3000, w=40), dict(n=1 << 22, w=1000), rtol=1e-4, atol=1e-4)  # fmt: skip
def window_by_loop(device, n, w):
    x = tm.normal(n, device=device)
    return (x, x.new_zeros(1), n, w), 1, lambda: x.double().unfold(0, w, 1).sum(-1).max()[None]


@solution("medium/15_2D_subarray_sum", "subsum_kernel", *MATRIX)
def part_sum_2d(device, m, n):
    x = tm.integers(-9, 10, m, n, device=device, dtype=torch.int32)
    part = 5, m - 7, 3, n - 9
    return (x, x.new_zeros(1), m, n, *part), 1, lambda: x[5 : m - 6, 3 : n - 8].sum()[None]


@solution("medium/16_1D_subarray_sum", "subarray_sum_kernel", *MANY)
def part_sum_1d(device, n):
    x = tm.integers(-9, 10, n, device=device, dtype=torch.int32)
    return (x, x.new_zeros(1), n, 5, n - 7), 1, lambda: x[5 : n - 6].sum()[None]


@solution("medium/17_3D_subarray_sum", "subsum_kernel", dict(m=9, n=37, k=40), dict(m=256, n=512, k=512))  # fmt: skip
def part_sum_3d(device, m, n, k):
    x = tm.integers(-9, 10, m, n, k, device=device, dtype=torch.int32)
    return (x, x.new_zeros(1), m, n, k, 1, m - 2, 2, n - 3, 3, k - 4), 1, lambda: x[1 : m - 1, 2 : n - 2, 3 : k - 3].sum()[None]  # fmt: skip


def _counts_3d(function, kernel):
    @solution("medium/18_count_3D_element", kernel, dict(m=9, n=37, k=40), dict(m=256, n=512, k=512), function, f"count_3d_{function}")  # fmt: skip
    def make(device, m, n, k):
        x = tm.integers(0, 10, m, n, k, device=device, dtype=torch.int32)
        return (x, x.new_zeros(1), m, n, k, 3), 1, lambda: (x == 3).sum()[None]


_counts_3d("solve_3d", "subsum_kernel")
_counts_3d("solve", "count_eq_kernel")


@solution("medium/19_RMS_Norm", "sum_kernel, rms_kernel", *MANY)
def rms_norm(device, n):
    x = tm.normal(n, device=device)
    return (x, 1.5, 0.25, torch.empty_like(x), n, 1e-5), 3, lambda: tm.rms_norm(x, None, 1e-5) * 1.5 + 0.25  # fmt: skip


@solution("medium/4_2d_convolution", "conv2d_kernel", dict(m=70, n=90, k=3), dict(m=4096, n=4096, k=7), rtol=1e-4, atol=1e-4)  # fmt: skip
def conv2d(device, m, n, k):
    x, w = tm.normal(m, n, device=device), tm.normal(k, k + 2, device=device)
    out = x.new_empty(m - k + 1, n - k - 1)
    return (x, w, out, m, n, k, k + 2), 2, lambda: F.conv2d(x.double()[None, None], w.double()[None, None])[0, 0]  # fmt: skip


@solution("tensara/1_1d_convolution", "_1d_conv_kernel", dict(n=3000, k=13), dict(n=1 << 22, k=31), "solution")  # fmt: skip
def conv1d_padded(device, n, k):
    x, w = tm.normal(n, device=device), tm.normal(k, device=device)
    return (x, w, torch.empty_like(x), n, k), 2, lambda: F.conv1d(x.double()[None, None], w.double()[None, None], padding=k // 2)[0, 0]  # fmt: skip


@solution("tensara/5_1d_avg_pooling", "avg_pool1d_kernel", dict(n=3000), dict(n=1 << 22), "solution")  # fmt: skip
def average_pooling(device, n):
    x = tm.normal(n, device=device)
    out = x.new_empty((n + 4 - 7) // 3 + 1)
    return (x, 7, 3, 2, out, n), 4, lambda: F.avg_pool1d(x.double()[None, None], 7, 3, 2)[0, 0]


def _matrix_vector(function, kernel, finds=""):
    @solution("tensara/6_matrix_vector_mul", kernel, dict(m=40, k=3000), dict(m=8192, k=8192), function, f"matrix_vector_{function}", finds=finds, rtol=1e-4, atol=1e-3)  # fmt: skip
    def make(device, m, k):
        a, b = tm.normal(m, k, device=device), tm.normal(k, device=device)
        return (a, b, a.new_zeros(m), m, k), 2, lambda: a.double() @ b.double()


_matrix_vector("solution_2d", "_spmv_kernel_2d")
# It has a program for each part of a row, and each of them sums the whole row and stores the result.
_matrix_vector("solution", "_spmv_kernel_1d", "race-same-value")


@solution("tensara/7_gelu", "_gelu_kernel, _gelu_approx, tanh_stable", *MATRIX, function="solution")
def gelu(device, m, n):
    x = tm.normal(m, n, device=device)
    return (x, torch.empty_like(x), n, m), 1, lambda: F.gelu(x.double(), approximate="tanh")


@repository.case("high/2_matmul.py", "matmul_kernel", small=dict(m=150, n=70, k=100), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=5e-2)  # fmt: skip
def tuned_matmul(file, device, m, n, k):
    a, b = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, k), (k, n)))
    return lambda: file.matmul(a, b), lambda: a.double() @ b.double()


@repository.case("high/3_seed_dropout.py", "_seeded_dropout", small=MANY[0], production=MANY[1])
def dropout(file, device, n):
    x = tm.normal(n, device=device)

    def run():
        y = file.seed_dropout(x, 0.25, 7)
        kept = (y != 0).double().mean()
        return torch.where(y == 0, x / 0.75, y), (kept - 0.75).abs() < 0.03

    return run, lambda: (x.double() / 0.75, torch.tensor(True))
