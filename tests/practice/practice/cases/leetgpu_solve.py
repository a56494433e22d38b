"""leetgpu-triton-solve: answers to exercises, each a file with kernels and ``solve``."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("mocusez/leetgpu-triton-solve", "a060da5858a0527022c0ae886864868305e0b469")


def case(file, kernels, small, production, **options):
    return repository.case(file + ".py", kernels, small=small, production=production, **options)


def solved(file, out, *args):
    """Runs ``solve(*args)``, which fills ``out``."""

    def run():
        file.solve(*args)
        return out

    return run


@case("hard-radix_sort", "count_kernel, scatter_kernel", dict(n=3000), dict(n=1 << 22))
def radix_sort(file, device, n):
    x = torch.randint(-(1 << 31), (1 << 31) - 1, (n,), dtype=torch.int32).to(device)
    out = torch.empty_like(x)
    unsigned = x.long() & 0xFFFFFFFF
    return (lambda: solved(file, out, x, out, n)().long() & 0xFFFFFFFF), lambda: unsigned.sort()[0]


@case("medium-2d_fft", "row_dft_kernel, col_dft_kernel", dict(m=40, n=72), dict(m=512, n=512), atol=1e-2)  # fmt: skip
def fft_2d(file, device, m, n):
    x, out = tm.normal(m, n, 2, device=device), torch.empty(m, n, 2, device=device)
    want = torch.fft.fft2(torch.view_as_complex(x.double()))
    return solved(file, out, x, out, m, n), lambda: torch.view_as_real(want)


@case("medium-2d_jacobi_stencil", "jacobi_stencil", dict(m=70, n=45), dict(m=4096, n=4096))
def jacobi(file, device, m, n):
    x, out = tm.normal(m, n, device=device), torch.empty(m, n, device=device)

    def want():
        y = x.double().clone()
        z = x.double()
        y[1:-1, 1:-1] = (z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:]) / 4
        return y

    return solved(file, out, x, out, m, n), want


@case("medium-parallel_merge", "merge_kernel", dict(m=700, n=1500), dict(m=1 << 20, n=1 << 20))
def merged(file, device, m, n):
    a, b = (tm.normal(k, device=device).sort()[0] for k in (m, n))
    out = torch.empty(m + n, device=device)
    return solved(file, out, a, b, out, m, n), lambda: torch.cat([a, b]).double().sort()[0]


@case("hard-multi_agent_simulation", "swarm_kernel", dict(n=130), dict(n=10000))  # fmt: skip
def swarm(file, device, n):
    x = torch.cat([tm.normal(n, 2, device=device) * 9, tm.normal(n, 2, device=device)], 1)
    out = torch.empty_like(x)

    def want():
        p, v = x.double().split(2, 1)
        near = ((p[:, None] - p).square().sum(-1) < 25) & ~torch.eye(n, dtype=bool, device=device)
        count = near.sum(1, keepdim=True)
        mean = torch.where(count > 0, near.double() @ v / count.clamp(min=1), v)
        v = v + 0.05 * (mean - v)
        return torch.cat([p + v, v], 1)

    return solved(file, out, x.flatten(), out, n), want


@case("medium-max_subarray_sum", "max_subarray_sum_kernel", dict(n=500, w=7), dict(n=50000, w=1000), atol=1e-4)  # fmt: skip
def best_window(file, device, n, w):
    x, out = tm.normal(n, device=device), torch.empty(1, device=device)
    want = x.double().unfold(0, w, 1).sum(-1).max()
    return solved(file, out, x, out, n, w), lambda: want[None]


@case("medium-monte_carlo_integration", "kernel", dict(n=3000), dict(n=1 << 24))
def monte_carlo(file, device, n):
    y = torch.rand(n).to(device)

    def run():
        out = torch.zeros(1, device=device)
        return solved(file, out, y, out, -1.0, 2.5, n)()

    return run, lambda: y.double().mean()[None] * 3.5


@case("medium-prefix_sum", "single_block_scan_kernel, local_scan_kernel, add_base_kernel", dict(n=5000), dict(n=1 << 22), atol=2e-3)  # fmt: skip
def prefix_sum(file, device, n):
    x, out = tm.normal(n, device=device), torch.empty(n, device=device)
    return solved(file, out, x, out, n), lambda: x.double().cumsum(0)


@case("medium-segmented_exclusive_prefix_sum", "pass1_reduce, pass2_scan, pass3_downsweep", dict(n=70000), dict(n=1 << 22), atol=1e-3)  # fmt: skip
def segmented(file, device, n):
    x, out = tm.normal(n, device=device), torch.empty(n, device=device)
    flags = (torch.rand(n) < 0.01).int().to(device)
    flags[0] = 1

    def want():
        sums = x.double().cumsum(0) - x.double()
        starts = torch.where(flags == 1, torch.arange(n, device=device), 0).cummax(0)[0]
        return sums - sums[starts]

    return solved(file, out, x, flags, out, n), want


@case("medium-stream-compaction", "count_kernel, compact_kernel", dict(n=3000), dict(n=1 << 22))
def compacted(file, device, n):
    x, out = tm.normal(n, device=device), torch.empty(n, device=device)
    kept = x[x > 0].double()
    return solved(file, out, x, n, out), lambda: F.pad(kept, (0, n - len(kept)))


@case("medium-top_k_selection", "binoticsort_des_kernel", dict(n=3000, k=50), dict(n=1 << 20, k=100))  # fmt: skip
def top_k(file, device, n, k):
    x, out = tm.normal(n, device=device), torch.empty(k, device=device)
    return solved(file, out, x, out, n, k), lambda: x.double().topk(k)[0]


@case("medium-histograming", "hist_compute", dict(n=3000, bins=20), dict(n=1 << 24, bins=256))  # fmt: skip
def histogram(file, device, n, bins):
    x = tm.integers(0, bins, n, device=device).int()

    def run():
        out = torch.zeros(bins, dtype=torch.int32, device=device)
        return solved(file, out, x, out, n, bins)()

    return run, lambda: torch.bincount(x, minlength=bins)


@case("medium-nearest_neighbor", "nearest_neighbor_3d", dict(n=100), dict(n=10000))
def nearest(file, device, n):
    x, out = tm.normal(n, 3, device=device), torch.empty(n, dtype=torch.int32, device=device)

    def want():
        d = torch.cdist(x.double(), x.double())
        return d.fill_diagonal_(float("inf")).argmin(1)

    return solved(file, out, x, out, n), want


@case("medium-matrix_power", "matmul_kernel", dict(n=50, p=5), dict(n=1024, p=20), rtol=1e-4)
def matrix_power(file, device, n, p):
    x, out = tm.normal(n, n, device=device) / n**0.5, torch.empty(n, n, device=device)
    return solved(file, out, x, out, n, p), lambda: torch.linalg.matrix_power(x.double(), p)


@case("hard-sliding_window_self_attention", "attention", dict(m=50, d=24, w=5), dict(m=5000, d=128, w=32))  # fmt: skip
def window_attention(file, device, m, d, w):
    q, k, v = (tm.normal(m, d, device=device) for _ in range(3))
    out = torch.empty_like(q)

    def want():
        s = q.double() @ k.double().T * d**-0.5
        i = torch.arange(m, device=device)
        return s.masked_fill((i[:, None] - i).abs() > w, float("-inf")).softmax(-1) @ v.double()

    return solved(file, out, q, k, v, out, m, d, w), want


@case("hard-linear_self_attention", "matmulKV_kernel, linear_attn_kernel", dict(m=300, d=40), dict(m=10000, d=128), rtol=1e-4)  # fmt: skip
def linear_attention(file, device, m, d):
    q, k, v = (tm.normal(m, d, device=device) for _ in range(3))
    out = torch.empty_like(q)

    def want():
        f, g = (F.elu(x.double()) + 1 for x in (q, k))
        return f @ (g.T @ v.double()) / (f @ g.sum(0))[:, None]

    return solved(file, out, q, k, v, out, m, d), want


@case("medium-attention_with_linear_biases", "alibi_attention_fwd", dict(m=40, n=50, d=24), dict(m=2048, n=2048, d=1024))  # fmt: skip
def alibi(file, device, m, n, d):
    q, k, v = (tm.normal(x, d, device=device) for x in (m, n, n))
    out = torch.empty_like(q)
    bias = 0.5 * (torch.arange(m)[:, None] - torch.arange(n)).to(device)
    return (
        solved(file, out, q, k, v, out, m, n, d, 0.5),
        lambda: tm.attention(q[None], k[None], v[None], bias=bias)[0][0],
    )


@case("medium-grouped-query-attention", "_gqa_kernel", dict(h=4, g=2, n=70, d=20), dict(h=32, g=8, n=1024, d=128))  # fmt: skip
def grouped_queries(file, device, h, g, n, d):
    q, k, v = (tm.normal(x, n, d, device=device) for x in (h, g, g))
    out = torch.empty_like(q)
    return solved(file, out, q, k, v, out, h, g, n, d), lambda: tm.attention(q, k, v)[0]


def _attention(q, k, v):
    return tm.attention(q[None], k[None], v[None])[0][0]


@case("medium-softmax_attention", "attention_kernel", dict(m=20, n=50, d=24), dict(m=512, n=256, d=128))  # fmt: skip
def softmax_attention(file, device, m, n, d):
    q, k, v = (tm.normal(x, d, device=device) for x in (m, n, n))
    out = torch.empty_like(q)
    return solved(file, out, q, k, v, out, m, n, d), lambda: _attention(q, k, v)


@case("medium-softmax_attention_backward", "_attn_bwd_dq, _attn_bwd_dkdv", dict(m=50, n=70, d=24), dict(m=8192, n=4096, d=128), rtol=1e-4)  # fmt: skip
def attention_backward(file, device, m, n, d):
    q, k, v, dout = (tm.normal(x, d, device=device) for x in (m, n, n, m))
    grads = [torch.empty_like(x) for x in (q, k, v)]

    def want():
        return tm.with_gradients(_attention, dout, q, k, v, exact=True)[1:]

    return solved(file, grads, q, k, v, dout, *grads, m, n, d), want


@case("medium-causal_depthwise_conv1d", "_causal_depthwise_conv1d_kernel", dict(b=2, n=40, d=20, k=4), dict(b=8, n=2048, d=4096, k=4))  # fmt: skip
def depthwise(file, device, b, n, d, k):
    x, w, bias = tm.normal(b, n, d, device=device), tm.normal(d, k, device=device), tm.normal(d, device=device)  # fmt: skip
    out = torch.empty_like(x)

    def want():
        y = F.pad(x.double().mT, (k - 1, 0))
        return F.conv1d(y, w.double().flip(1)[:, None], bias.double(), groups=d).mT

    return solved(file, out, x, w, bias, out, b, n, d, k), want


@case("medium-linear_recurrence", "affine_combine, local_scan_kernel, chunk_scan_kernel, fixup_kernel", dict(b=3, n=300), dict(b=16, n=65536), rtol=1e-4, atol=1e-4)  # fmt: skip
def recurrence(file, device, b, n):
    a, x = torch.rand(b, n).to(device), tm.normal(b, n, device=device)
    out = torch.empty_like(x)

    def want():
        h, rows = torch.zeros(b, dtype=torch.float64, device=device), []
        for t in range(n):
            h = a[:, t].double() * h + x[:, t].double()
            rows.append(h)
        return torch.stack(rows, 1)

    return solved(file, out, a, x, out, b, n), want


def _scan(name, kernel):
    @case(name, kernel, dict(b=2, n=30, d=20, s=8), dict(b=4, n=2048, d=1024, s=16), rtol=1e-4, atol=1e-4, name=name.split("-")[1])  # fmt: skip
    def scan(file, device, b, n, d, s):
        u, skip = tm.normal(b, n, d, device=device), tm.normal(d, device=device)
        delta, a = torch.rand(b, n, d).to(device), -torch.rand(d, s).to(device)
        x, y = tm.normal(b, n, s, device=device), tm.normal(b, n, s, device=device)
        out = torch.empty_like(u)

        def want():
            h, rows = torch.zeros(b, d, s, dtype=torch.float64, device=device), []
            for t in range(n):
                dt = delta[:, t, :, None].double()
                h = h * torch.exp(dt * a.double()) + dt * x[:, t, None].double() * u[:, t, :, None]
                rows.append((h * y[:, t, None].double()).sum(-1) + skip.double() * u[:, t])
            return torch.stack(rows, 1)

        return solved(file, out, u, delta, a, x, y, skip, out, b, n, d, s), want

    return scan


_scan("medium-ssm_selective_scan_1", "selective_scan_fwd_kernel")
_scan("medium-ssm_selective_scan_2", "_ssm_selective_scan_kernel")


@case("medium-parallel_reverse_scan_gae", "_gae_local_kernel, _gae_carry_kernel, _gae_apply_carry_kernel", dict(b=3, n=600), dict(b=256, n=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def gae(file, device, b, n):
    rewards, values = tm.normal(b, n, device=device), tm.normal(b, n, device=device)
    out = torch.empty_like(rewards)

    def want():
        r, v = rewards.double(), F.pad(values.double(), (0, 1))
        a, rows = torch.zeros(b, dtype=torch.float64, device=device), []
        for t in reversed(range(n)):
            a = r[:, t] + 0.99 * v[:, t + 1] - v[:, t] + 0.99 * 0.95 * a
            rows.append(a)
        return torch.stack(rows[::-1], 1)

    return solved(file, out, rewards, values, out, 0.99, 0.95, b, n), want


@case("medium-ppo_clipped_surrogate_loss", "_zero_kernel, _ppo_kernel", dict(b=3, n=500), dict(b=256, n=4096))  # fmt: skip
def ppo(file, device, b, n):
    a, p, q = (tm.normal(b, n, device=device) for _ in range(3))
    out = torch.empty(1, device=device)

    def want():
        ratio = (p.double() - q.double()).exp()
        return -torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a.double()).mean()[None]

    return solved(file, out, a, p, q, out, 0.2, b, n), want


@case("medium-int8_quantized_matmul", "int8_quant_matmul_kernel", dict(m=40, n=50, k=70), dict(m=4096, n=4096, k=2048), atol=1)  # fmt: skip
def int8_matmul(file, device, m, n, k):
    a, b = (torch.randint(-128, 128, s, dtype=torch.int8).to(device) for s in ((m, k), (k, n)))
    out = torch.empty(m, n, dtype=torch.int8, device=device)

    def want():
        s = (a.double() - 3) @ (b.double() + 2) * (0.1 * 0.05 / 2.0) + 1
        return s.round().clamp(-128, 127)

    return solved(file, out, a, b, out, m, n, k, 0.1, 0.05, 2.0, 3, -2, 1), want


@case("medium-moe_top_k_gating", "kernel_moe", dict(m=20, e=12, k=3), dict(m=4096, e=64, k=8))  # fmt: skip
def gating(file, device, m, e, k):
    x = tm.normal(m, e, device=device)
    out = torch.empty(m, k, device=device), torch.empty(m, k, dtype=torch.int32, device=device)

    def want():
        values, ids = x.double().topk(k)
        return values.softmax(-1), ids

    return solved(file, out, x, *out, m, e, k), want


@case("medium-speculative_decoding_verification", "_speculative_decoding_verification_kernel", dict(b=5, t=4, v=300), dict(b=64, t=8, v=32000))  # fmt: skip
def speculative(file, device, b, t, v):
    draft, target = (torch.rand(b, t, v).softmax(-1).to(device) for _ in range(2))
    tokens = torch.randint(0, v, (b, t), dtype=torch.int32).to(device)
    uniform = torch.rand(b, t + 1).to(device)
    out = torch.full((b, t + 1), -1, dtype=torch.int32, device=device)

    def want():
        rows = torch.zeros(b, t + 1, dtype=torch.int64)
        for row in range(b):
            for i in range(t):
                word = int(tokens[row, i])
                p, q = draft[row, i].double(), target[row, i].double()
                if uniform[row, i] < q[word] / p[word]:
                    rows[row, i] = word
                    continue
                left = (q - p).clamp(min=0).cumsum(0)
                rows[row, i] = torch.searchsorted(left, uniform[row, t].double() * left[-1])
                break
            else:
                sums = target[row, t - 1].double().cumsum(0)
                rows[row, t] = torch.searchsorted(sums, uniform[row, t].double())
        return rows

    return solved(file, out, tokens, draft, target, uniform, out, b, t, v), want


@case("medium-3D_convolution", "conv_3d_kernel", dict(n=12, k=3), dict(n=128, k=5), rtol=1e-4, atol=1e-4)  # fmt: skip
def convolution_3d(file, device, n, k):
    x, w = tm.normal(n, n, n, device=device), tm.normal(k, k, k, device=device)
    r = n - k + 1
    out = torch.empty(r, r, r, device=device)

    def want():
        return F.conv3d(x.double()[None, None], w.double()[None, None])[0, 0]

    return solved(file, out, x, w, out, n, n, n, k, k, k), want


@case("medium-gaussian_blur", "convolve_2d", dict(m=30, n=40, k=5), dict(m=2048, n=2048, k=21), rtol=1e-4, atol=1e-4)  # fmt: skip
def blur(file, device, m, n, k):
    x, w = tm.normal(m, n, device=device), torch.rand(k, k).to(device)
    out = torch.empty(m, n, device=device)

    def want():
        return F.conv2d(x.double()[None, None], w.double()[None, None], padding=k // 2)[0, 0]

    return solved(file, out, x, w, out, m, n, k, k), want


@case("easy-interleave_arrays", "interleave_kernel", dict(n=700), dict(n=1 << 24))
def interleaved(file, device, n):
    a, b = tm.normal(n, device=device), tm.normal(n, device=device)
    out = torch.empty(2 * n, device=device)
    return solved(file, out, a, b, out, n), lambda: torch.stack([a, b], 1).flatten()


@case("easy-reverse_array", "reverse_kernel", dict(n=701), dict(n=1 << 24))
def reversed_array(file, device, n):
    x = tm.normal(n, device=device)
    want = x.flip(0).double()

    def run():
        y = x.clone()
        file.solve(y, n)
        return y

    return run, lambda: want


@case("easy-color_inversion", "invert_kernel", dict(w=33, h=21), dict(w=4096, h=4096))
def inverted(file, device, w, h):
    x = torch.randint(0, 256, (h * w * 4,), dtype=torch.uint8).to(device)

    def run():
        y = x.clone()
        file.solve(y, w, h)
        return y

    def want():
        y = x.view(-1, 4).clone()
        y[:, :3] = 255 - y[:, :3]
        return y.flatten()

    return run, want


@case("medium-sparse_matrix-vector_multiplication", "cal", dict(m=30, n=2000), dict(m=4096, n=8192), rtol=1e-4, atol=1e-4)  # fmt: skip
def sparse_vector(file, device, m, n):
    a, x = tm.normal(m, n, device=device), tm.normal(n, device=device)
    out = torch.empty(m, device=device)
    return solved(file, out, a, x, out, m, n, m * n), lambda: a.double() @ x.double()


@case("medium-token_embedding_layer", "_token_embedding_layernorm_kernel", dict(b=3, t=20, v=50, d=40), dict(b=8, t=1024, v=32000, d=768))  # fmt: skip
def embedding(file, device, b, t, v, d):
    ids = torch.randint(0, v, (b, t), dtype=torch.int32).to(device)
    places = torch.arange(t, dtype=torch.int32).expand(b, t).contiguous().to(device)
    words, positions = tm.normal(v, d, device=device), tm.normal(t, d, device=device)
    gamma, beta = tm.normal(d, device=device), tm.normal(d, device=device)
    out = torch.empty(b, t, d, device=device)
    want = tm.layer_norm(words[ids].double() + positions[places], gamma, beta, 1e-5)
    return (
        solved(file, out, ids, places, words, positions, gamma, beta, out, b, t, v, t, d, 1e-5),
        lambda: want,
    )


@case("medium-int4_weight_only_quantized_matmul", "int4_matmul_kernel", dict(m=20, n=40, k=64, g=32), dict(m=1024, n=4096, k=4096, g=128), rtol=2e-2, atol=5e-2)  # fmt: skip
def int4_matmul(file, device, m, n, k, g):
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    q = torch.randint(0, 16, (n, k)).to(device)
    packed = ((q[:, ::2] << 4) | q[:, 1::2]).to(torch.uint8)
    scales = torch.rand(n, k // g).half().to(device) * 0.1
    out = torch.empty(m, n, dtype=torch.float16, device=device)
    weights = (q.double() - 8) * scales.double().repeat_interleave(g, 1)
    return solved(file, out, x, packed, scales, out, m, n, k, g), lambda: x.double() @ weights.T
