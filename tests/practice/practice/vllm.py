"""vLLM, the fork jinhuang12/vllm, with stand-ins for the parts that its kernels do not need."""

from __future__ import annotations

import math
from types import SimpleNamespace

import torch
import triton
import triton.language as tl

from practice.case import Repository

CORES = 4
_PLATFORM = SimpleNamespace(
    fp8_dtype=lambda: torch.float8_e4m3fn,
    is_cuda=lambda: False,  # so that wrappers take their Triton kernels
    is_cuda_alike=lambda: True,
    is_rocm=lambda: False,
    is_xpu=lambda: False,
    is_cpu=lambda: False,
    is_fp8_fnuz=lambda: False,
    has_device_capability=lambda *_: True,
    get_device_capability=lambda *_, **__: SimpleNamespace(to_int=lambda: 90),
    get_device_name=lambda *_: "NVIDIA H100",
    simple_compile_backend="eager",
)
_MOE = "vllm.model_executor.layers.fused_moe."
_QUANT = "vllm.model_executor.layers.quantization."


def vllm() -> Repository:
    """The repository, without cases."""
    return Repository(
        "jinhuang12/vllm",
        "22f8d28697322f81fd8bf47790cce714e84ce859",
        packages={"vllm": "."},
        stand_ins={
            "vllm.triton_utils": {"tl": tl, "triton": triton, "HAS_TRITON": True},
            "vllm.utils.math_utils": {
                "next_power_of_2": triton.next_power_of_2,
                "cdiv": triton.cdiv,
                "round_up": lambda x, y: -(-x // y) * y,
                "RCP_LN2": 1 / math.log(2),
            },
            "vllm.utils.platform_utils": {"num_compute_units": lambda *_: CORES},
            "vllm.v1.outputs": {"LogprobsTensors": SimpleNamespace},
            "vllm.platforms": {"current_platform": _PLATFORM},
            "vllm.envs": {"VLLM_BATCH_INVARIANT": False, "VLLM_TUNED_CONFIG_FOLDER": None},
            "vllm.utils.deep_gemm": {
                "is_deep_gemm_e8m0_used": lambda: False,
                "get_tma_aligned_size": lambda m, _: -(-m // 4) * 4,
                "get_mk_alignment_for_contiguous_layout": lambda: (128, 128),
                "DeepGemmQuantScaleFMT": SimpleNamespace(FLOAT32=0, FLOAT32_CEIL_UE8M0=1, UE8M0=2),
            },
            _QUANT + "utils.quant_utils": {"get_fp8_min_max": lambda: (-448.0, 448.0)},
            **dict.fromkeys(
                (
                    "vllm.sampling_params",
                    "vllm.v1.sample.logits_processor.builtin",
                    "vllm.v1.sample.metadata",
                    "vllm.v1.sample.ops.bad_words",
                    "vllm.v1.sample.ops.penalties",
                    "vllm.v1.sample.ops.topk_topp_sampler",
                    "vllm.v1.sample.sampler",
                    "vllm.v1.spec_decode.metadata",
                    "vllm.v1.worker.gpu.buffer_utils",
                    "vllm.v1.worker.gpu.input_batch",
                    "vllm.v1.worker.gpu.sample.output",
                    "vllm.v1.worker.gpu.sample.sampler",
                    "vllm.v1.worker.gpu.sample.states",
                    "vllm.v1.worker.gpu.states",
                    "vllm._aiter_ops",
                    "vllm._custom_ops",
                    "vllm.config",
                    "vllm.distributed",
                    "vllm.distributed.parallel_state",
                    "vllm.forward_context",
                    "vllm.logger",
                    "vllm.model_executor.custom_op",
                    "vllm.model_executor.parameter",
                    "vllm.model_executor.utils",
                    _MOE + "activation",
                    _MOE + "config",
                    _MOE + "modular_kernel",
                    _MOE + "moe_align_block_size",
                    _MOE + "topk_weight_and_reduce",
                    _QUANT + "input_quant_fp8",
                    _QUANT + "utils.mxfp4_utils",
                    _QUANT + "utils.mxfp6_utils",
                    _QUANT + "utils.mxfp8_utils",
                    _QUANT + "utils.w8a8_utils",
                    "vllm.utils.collection_utils",
                    "vllm.utils.flashinfer",
                    "vllm.utils.torch_utils",
                    "vllm.v1.attention.backends.registry",
                    "vllm.v1.attention.backends.utils",
                    "vllm.model_executor.layers.rotary_embedding.base",
                    "vllm.model_executor.layers.rotary_embedding.yarn_scaling_rope",
                ),
                {},
            ),
        },
    )
