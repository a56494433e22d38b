"""Programmatic dependent launches: a launch that begins while the one ahead still runs."""

from blockscope._core import semantic as _semantic
from blockscope.language.core import builtin


@builtin
def gdc_wait() -> None:
    """Wait until the launch ahead has ended, and see what it wrote.

    Only a launch with ``launch_pdl`` may begin before; all others wait by themselves.
    """
    _semantic.gdc_wait()


@builtin
def gdc_launch_dependents() -> None:
    """Let the launch behind begin, if it has ``launch_pdl``, once all programs have come here.

    Those that have ended count as well.
    """
    _semantic.gdc_launch_dependents()


__all__ = ["gdc_launch_dependents", "gdc_wait"]
