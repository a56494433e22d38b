"""The settings that change the code of kernels. They are part of every key.

C++ asks for them again when a knob or the environment has changed.
"""

from __future__ import annotations

import os
from typing import Any

from blockscope import knobs
from blockscope.frontend.globals_rule import allows_plain_variables
from blockscope.language.linear import default_input_precision


def of_cpu() -> tuple[Any, ...]:
    return (
        default_input_precision(on_gpu=False),
        allows_plain_variables(),
        knobs.compilation.instrumentation_mode,
    )


def of_gpu() -> tuple[Any, ...]:
    return (
        default_input_precision(on_gpu=True),
        allows_plain_variables(),
        knobs.compilation.instrumentation_mode,
        knobs.runtime.override_arch,
        bool(knobs.language.default_fp_fusion),
        bool(knobs.language.force_disable_fp_fusion),
        knobs.gpu.pass_pipeline,
        bool(knobs.gpu.tma),
        bool(knobs.compilation.disable_line_info),
        knobs.nvidia.ptxas_options,
        bool(knobs.nvidia.disable_ptxas_opt),
        # Where the tools are found.
        knobs.nvidia.chosen_path("ptxas"),
        knobs.nvidia.libdevice_path,
        os.environ.get("CUDA_HOME"),
        os.environ.get("CUDA_PATH"),
    )
