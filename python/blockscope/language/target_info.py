"""What the kernel is compiled for: on a GPU its architecture, on the CPU no GPU of any kind."""

from typing import Any

from blockscope.language import context
from blockscope.language.core import builtin, constexpr


def gpu_target() -> Any:
    """The GPU target that the kernel is compiled for now; None for the CPU."""
    kernel = context.current()
    return None if kernel is None else kernel.target


def _plain(value: Any) -> Any:
    return getattr(value, "value", value)


@builtin
def current_target() -> Any:
    """The target of the launch."""
    from blockscope.target import cpu_target  # slow to import, and seldom asked for

    return constexpr(gpu_target() or cpu_target())


@builtin
def is_cuda() -> Any:
    """Whether the kernel is compiled for an NVIDIA GPU."""
    return constexpr(gpu_target() is not None)


@builtin
def cuda_capability_geq(major: Any, minor: Any = 0) -> Any:
    """Whether it is compiled for an NVIDIA GPU of at least this compute capability."""
    target = gpu_target()
    wanted = 10 * int(_plain(major)) + int(_plain(minor))
    return constexpr(target is not None and int(target.arch) >= wanted)


def _no(name: str) -> Any:
    def question(*args: Any, **kwargs: Any) -> Any:
        return constexpr(False)

    question.__name__ = question.__qualname__ = name
    question.__doc__ = "False: there is no back end for AMD GPUs."
    return builtin(question)


is_hip = _no("is_hip")
is_hip_cdna3 = _no("is_hip_cdna3")
is_hip_cdna4 = _no("is_hip_cdna4")
is_hip_rdna3 = _no("is_hip_rdna3")
is_hip_rdna4 = _no("is_hip_rdna4")
is_hip_gfx1250 = _no("is_hip_gfx1250")
