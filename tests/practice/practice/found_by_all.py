"""What mode all-checks finds in kernels that are wrong, beyond ``finds``, and why it is right.

By case: the codes, with commas, and one sentence with the lines of the kernel that prove it.
"""

# ruff: noqa: E501
from __future__ import annotations

UNDEFINED, HINT, ROWS = "undefined-value", "false-hint", "crosses-dimension"

FOUND: dict[str, tuple[str, str]] = {}


def _found(codes: str, why: str, repository: str, *cases: str) -> None:
    FOUND.update({f"{repository}/{case}": (codes, why) for case in cases})


_found(
    UNDEFINED,
    "the maximum has 0 times weights of a load without `other`",
    "AlibabaPAI/FLASHNN",
    "rms_norm_int8",
)
_found(
    UNDEFINED,
    "the sum has products of lanes of loads without `other`",
    "databricks/megablocks",
    "padded_scatter_gradient",
    "binned_scatter_gradient",
)
_found(
    ROWS,
    "line 81 loads the state after each, and its mask lets the one after the row's last through",
    "proger/accelerated-scan",
    "real",
)
_found(
    HINT,
    "rows of 300 elements of 2 bytes do not begin at multiples of 16 bytes",
    "ROCm/aiter",
    "rms_norm",
    "rms_norm_add",
    "rms_norm_quant",
)
_found(
    HINT,
    "it assumes a stride above 0 of an output, or a bias, that is not there and has stride 0",
    "ROCm/aiter",
    "gemm_fp8_blocks",
    "batched_gemm_bf16",
)
_found(
    f"{HINT},{UNDEFINED}",
    "it assumes `pid > 0` of program 0, and takes the maximum of a load without `other`",
    "ROCm/aiter",
    "int8_per_token",
    "fp8_per_tensor",
)
_found(
    UNDEFINED,
    "tiles that no program computes are read from `torch.empty`",
    "meta-pytorch/applied-ai",
    "fused_moe_v2_tiles_twice",
)
_found(
    "shift-too-far",
    "line 325 shifts an int32 by up to 44 where a value is tiny in its group",
    "pytorch/FBGEMM",
    "mx4",
)
_found(
    UNDEFINED,
    "rows of the keys, values or queries behind the end are loaded without `other` and multiplied by 0, which is NaN where they are",
    "FlagOpen/FlagAttention",
    "flash",
    "flash_causal",
    "flash_totals",
    "split_kv",
    "piecewise",
)
_found(
    UNDEFINED,
    "the sum of squares, or the maximum, has lanes of a load without `other`",
    "InternLM/lmdeploy",
    "rms_norm",
    "add_rms_norm",
    "rms_norm_quant",
)
_found(
    UNDEFINED,
    "the last step along K multiplies lanes that both loads leave out, `other=None`",
    "InternLM/lmdeploy",
    "linear_int8",
    "linear_int8_residual",
    "linear_fp8",
)
_found(
    HINT,
    "line 392 says that a number of blocks, 4, is a multiple of the size of a block, 32",
    "NX-AI/mlstm_kernels",
    "limit_head",
)
_found(
    ROWS,
    "blocks of 256 have no mask, and rows have 64 elements",
    "NX-AI/mlstm_kernels",
    "step_in_two",
)
_found(
    UNDEFINED,
    "the scale is the maximum of a load without `other`",
    "thu-ml/SageAttention",
    "quantised_per_block",
    "quantised_per_thread",
    "quantised_per_block_varlen",
)
_found(
    UNDEFINED,
    "the scale is the maximum of a load without `other`",
    "thu-ml/SpargeAttn",
    "quantised_per_block",
)
_found(
    UNDEFINED,
    "keys and values behind the end are loaded without `other`, and values that are NaN there stay NaN times 0",
    "thu-ml/SageAttention",
    "attention_int8",
    "attention_int8_causal",
    "attention_int8_varlen",
    "attention_int8_causal_varlen",
    "attention_int8_causal_varlen_past_scales",
)
_found(
    UNDEFINED,
    "the minimum of `K_coords`, and with it an address, has lanes of a load without `other`",
    "openai/sparse_autoencoder",
    "decoder",
)
_found(
    UNDEFINED,
    "Welford's sum has lanes of a load without `other`, whose weight is 0, but 0 times NaN is NaN",
    "chengzeyi/stable-fast",
    "group_norm_identity",
    "group_norm_silu",
    "layer_norm",
)
_found(
    UNDEFINED,
    "dots have rows of loads without `other`, multiplied by 0",
    "shawntan/stickbreaking-attention",
    "dense",
    "varlen",
)
_found(
    UNDEFINED,
    "the number of a row is a sum with lanes of a load without `other` (line 152)",
    "NVIDIA/TransformerEngine",
    "permute",
    "unpermute",
    "unpermute_backward",
)
_found(
    UNDEFINED,
    "a block pointer's load behind the end has no padding, and the largest element is looked for there too",
    "kakaobrain/trident",
    "max",
)
_found(
    UNDEFINED,
    "sums have elements behind the end of block pointers' loads without padding",
    "kakaobrain/trident",
    "group_norm",
    "masked_softmax",
)
_found(
    UNDEFINED,
    "values behind the end are loaded without `other` and multiplied by 0",
    "latkins/trifast",
    "triangle_attention",
)
_found(
    HINT,
    "line 217 says that the number of a block, 7, is a multiple of 8",
    "triton-lang/kernels",
    "block_sparse_operand",
)
_found(
    HINT,
    "rows of 100 elements of 2 bytes do not begin at multiples of 16 bytes",
    "ROCm/tritonBLAS",
    "persistent",
    "stream_k",
)
_found(
    UNDEFINED,
    "no mistake: lanes of a load without `other` go into an `argmax` that an earlier lane wins, which the check does not see",
    "NVIDIA/TransformerEngine",
    "sorted_chunks",
)
_found(
    UNDEFINED,
    "its stores all go to few elements, and the rest of `torch.empty` is read",
    "pytorch/ao",
    "scales_of_groups",
)
_found(
    UNDEFINED,
    "lanes of loads without `other` go into sums that are stored",
    "mocusez/leetgpu-triton-solve",
    "swarm",
    "histogram",
    "int8_matmul",
    "blur",
)
_found(
    UNDEFINED,
    "the softmax of the residual has rows of logits that no program wrote",
    "jinhuang12/vllm",
    "rejected_by_probability",
)
_found(
    UNDEFINED,
    "the last block along K is loaded without `other`, and its lanes go into the dot",
    "jinhuang12/vllm",
    "scaled_int8",
)
_found(
    "shift-too-far",
    "0 is shifted by the number of a block that may be 64 or more: 0 on GPUs, but not by the rules",
    "deep-spin/adasplash",
    "attention_histogram",
)
_found(
    UNDEFINED,
    "counts, addresses or dots have lanes of loads without `other`",
    "inclusionAI/linghe",
    "row_maps",
    "scatter_add",
    "scaled_mm",
)
_found(
    HINT,
    "line 67 says that a loop begins at multiples of 64, but it begins at the first key of the band of 40",
    "openai/gpt-oss",
    "sinks_banded",
)
_found(
    UNDEFINED,
    "sums and dots have columns behind the end, of loads without `other`",
    "open-lm-engine/accelerated-model-architectures",
    "residual_rms_norm",
    "plain_rms_norm",
    "softmax",
    "rnn",
    "rnn_varlen",
    "gru",
    "gru_varlen",
    "linear_attention",
    "matrix_rnn",
)
_found(
    UNDEFINED,
    "the sum has lanes of a load without `other` times 0, which is NaN where they are",
    "Vahe1994/AQLM",
    "one_book",
    "two_books",
    "groups_of_outputs",
)
_found(
    UNDEFINED,
    "keys behind the end are loaded without `other`, and minus infinity is added, which leaves NaN",
    "microsoft/SeerAttention",
    "pooled_scores",
)
_found(
    HINT,
    "line 100 says that 16 columns of its mask are alike, and 200 columns end amid 16",
    "triton-lang/Triton-to-tile-IR",
    "swiglu",
)
_found(
    UNDEFINED,
    "the sum of squares has lanes of a load without `other`",
    "stackav-oss/conch",
    "rms_norms",
    "gemma_rms_norm",
)

# Tuned kernels that work in place, or add to what is there, need reset_to_zero or restore_value.
TUNED, WRAP, ORDER = "not-idempotent", "integer-wrap", "race-warp-order"

_found(
    TUNED,
    "it is tuned on the tensor that it changes in place, with no `restore_value`",
    "zero9178/npbench",
    "fdtd_2d",
    "gemm",
    "gemver",
    "k2mm",
    "lu",
    "ludcmp",
    "mlp",
    "seidel_2d",
    "softmax",
    "symm",
    "vadv",
)
_found(
    TUNED,
    "it is tuned on the tensor that its atomics add to, with no `reset_to_zero`",
    "zero9178/npbench",
    "azimint_hist",
    "azimint_naive",
    "covariance2",
    "go_fast",
    "nbody",
)
_found(
    f"{TUNED},{UNDEFINED}",
    "it is tuned on what it adds to or changes, and lanes of a load without `other` go into sums",
    "zero9178/npbench",
    "atax",
    "correlation",
    "covariance",
    "doitgen",
    "gesummv",
    "mvt",
    "resnet",
    "syr2k",
    "syrk",
)
_found(
    UNDEFINED,
    "lanes of the load in line 41, without `other`, go into both sums",
    "zero9178/npbench",
    "bicg",
)
_found(
    f"{WRAP},{ORDER}",
    "the barrier of the grid adds an int32 that wraps, on purpose, and its release has no barrier of the warps between itself and the stores before it",
    "zero9178/npbench",
    "cavity_flow",
    "heat_3d",
    "jacobi_1d",
    "jacobi_2d",
)
_found(
    f"{TUNED},{ORDER}",
    "it is tuned on the matrix that it changes in place, and loads with other lanes what lines 177 and 246 have stored, with no barrier",
    "zero9178/npbench",
    "contour_integral",
)
_found(
    "race-read-write,race-same-value",
    "row and column `k` are read by all programs and stored by those that have them: with the value that they have had, as round `k` of Floyd and Warshall changes neither",
    "zero9178/npbench",
    "floyd_warshall",
)
_found(
    UNDEFINED,
    "the last block of the head's dimension, or of channels, is loaded without `other` and goes into sums",
    "bluecoffee8/leetgpu_soln",
    "causal_self_attn",
)
_found(
    UNDEFINED,
    "channels behind the end are loaded without `other` (line 207) and go into sums",
    "rziga/msda-triton",
    "attention_border",
)
_found(
    "race-same-value",
    "columns are taken modulo their number, so that programs of the last tiles store the first ones again",
    "bluecoffee8/leetgpu_soln",
    "matrix_transpose",
)
_found(
    ROWS,
    "line 525 reads the label after the last one, which is the first one of the next step, and drops it later",
    "odunola499/transducer",
    "tdt",
)
_found(
    f"race-read-write,race-write-write,{ORDER}",
    "programs wait for a count and for sums that plain stores have written under a lock (lines 23 to 30), without taking the lock",
    "shawntan/triton-radix-sort",
    "sort",
)
_found(
    ORDER,
    "a matrix in global memory is changed and read by blocks of different shapes with no barrier between, and handed on by atomics with none before",
    "chengy-sysu/triton-dsytrd",
    "two_stages_sweeps",
    "two_stages_persistent",
)
_found(
    "race-same-value",
    "programs of all parts of the value store the decay and the norm, which do not depend on it",
    "LukasBluebaum/xLSTM-Triton-CUDA-Implementation",
    "scans",
    "scans_of_heads",
)
_found(
    UNDEFINED,
    "the index behind the last edge is loaded without `other` and decides whether the last segment is stored",
    "fishmingyu/GeoT",
    "segments_by_scans",
    "segments_by_loops",
    "product_by_scans",
    "product_by_loops",
)
_found(
    UNDEFINED,
    "how often the loop runs is the maximum over rows of which those behind the end are loaded without `other`",
    "mir-group/allegro",
    "tensor_product_p_float32",
    "tensor_product_up_float32",
    "tensor_product_up_float64",
)
_found(
    "race-same-value",
    "it stores at rows and columns modulo their number, so that tiles behind the end store the first ones again",
    "Comfy-Org/comfy-kitchen",
    "int8_linear",
    "int8_linear_per_channel",
)
_found(
    ROWS,
    "the last step along K reads rows of the next group's matrix, which zeros of the other operand meet: NaN where they are not finite",
    "InternLM/xtuner",
    "products_of_groups_rows",
)
_found(
    UNDEFINED,
    "the number of tokens is a sum with lanes of a load without `other`",
    "AMD-AGI/Primus-Turbo",
    "mask",
)
_found(
    "race-same-value",
    "lanes behind the end go to element 0, in each of the last programs",
    "AMD-AGI/Primus-Turbo",
    "ranks_added",
)
_found(
    UNDEFINED,
    "a branch asks for a count with lanes of a load without `other`",
    "JackeyLove1/nano-triton-kernel",
    "count_2d_solve_1d",
)
_found(
    UNDEFINED,
    "the least error is searched for among lanes of a load without `other`, too",
    "IST-DASLab/MoE-Quant",
    "scales",
    "scales_of_fp16",
)
_found(
    f"{HINT},{ROWS}",
    "line 139 says of the first dimension what holds of the last one; where a tile's Gaussians end is "
    "read from the next tile, which for a row's last is in the next row",
    "hieu1999210/gsplat-triton",
    "pixels",
    "pixels_gradient",
)
_found(
    UNDEFINED,
    "line 36 takes the maximum of a block that line 35 loaded without `other`, at the border",
    "Tencent/AngelSlim",
    "fp8_blocks",
)
_found(
    UNDEFINED,
    "line 47 loads by a block pointer that checks boundaries and names no padding, and the sum has the columns behind the end",
    "lessw2020/triton_kernels_for_fun_and_profit",
    "rms_norm",
)
_found(
    "not-idempotent",
    "it adds to a share of what `X` was, which the tuner does not restore",
    "IST-DASLab/ISTA-DASLab-Optimizers",
    "preconditioner_left",
    "preconditioner_right",
)
_found(
    "race-warp-order",
    "a block on the diagonal is stored twice, as it is and mirrored: other warps store the same elements with no barrier between",
    "IST-DASLab/ISTA-DASLab-Optimizers",
    "square",
    "polynomial",
)
_found(
    UNDEFINED,
    "the sum has the loss of a load without `other` times its mask, which is NaN where that is",
    "facebookresearch/sam3",
    "focal_loss_sum",
)
_found(
    UNDEFINED,
    "values behind the end are loaded without `other`, and those that are NaN stay NaN times 0",
    "thu-ml/SLA",
    "attention_64",
    "attention_128",
)
_found(
    UNDEFINED,
    "the mean of the last block has lanes of a load without `other`",
    "thu-ml/SLA",
    "means_of_blocks",
)
_found(
    UNDEFINED,
    "rows behind the end of a group are loaded without padding and go into its sum",
    "ByteDance-Seed/VeOmni",
    "grouped_gradient",
)
_found(
    UNDEFINED,
    "values behind the end are loaded without `other`, and those that are NaN stay NaN times 0",
    "zhixuan-lin/forgetting-transformer",
    "attention_whole",
    "attention_pruned",
)
_found(
    UNDEFINED,
    "line 81 loads values behind the end without `other`, which are multiplied by 0 and stay NaN where they are",
    "interestingLSY/swiftLLM",
    "prefill_attention",
)
_found(
    UNDEFINED,
    "lines 218 and 226 load rows behind the end without `other`, and the sums over rows have them times 0",
    "epfml/dynamic-sparse-flash-attention",
    "some_keys_gradients",
)
_found(
    UNDEFINED,
    "both operands are loaded without `other` behind the end of the axis that is summed",
    "woct0rdho/transformers-qwen3-moe-fused",
    "groups",
    "groups_turned",
    "gradient_of_weights",
)
_found(
    UNDEFINED,
    "values behind the end are loaded with boundary_check and no padding, and those that are NaN stay NaN times 0",
    "alexdremov/kernels",
    "self_attention",
    "in_chunks",
    "in_chunks_gradients",
)
_found(
    UNDEFINED,
    "values behind the end are loaded without `other` (line 61), and those that are NaN stay NaN times 0",
    "gau-nernst/gn-kernels",
    "attention_of_any_lengths",
)
_found(
    UNDEFINED,
    "line 54 loads what is before the first splat's end without `other`, and stores go there",
    "WANGSSSSSSS/GS2d_Triton",
    "splats_of_tiles",
)
_found(
    UNDEFINED,
    "line 154 loads results of parts that are not there without `other`, and multiplies them by 0",
    "tile-ai/tilelang",
    "masked_blocks",
)
