"""What the kernel is compiled for. On the CPU: no GPU of any kind."""

from typing import Any

from blockscope.language.core import builtin, constexpr


@builtin
def current_target() -> Any:
    """The target of the launch."""
    from blockscope.driver import driver

    return constexpr(driver.active.get_current_target())


def _no(name: str) -> Any:
    def question(*args: Any, **kwargs: Any) -> Any:
        return constexpr(False)

    question.__name__ = question.__qualname__ = name
    question.__doc__ = "False on the CPU."
    return builtin(question)


is_cuda = _no("is_cuda")
cuda_capability_geq = _no("cuda_capability_geq")
is_hip = _no("is_hip")
is_hip_cdna3 = _no("is_hip_cdna3")
is_hip_cdna4 = _no("is_hip_cdna4")
is_hip_rdna3 = _no("is_hip_rdna3")
is_hip_rdna4 = _no("is_hip_rdna4")
is_hip_gfx1250 = _no("is_hip_gfx1250")
