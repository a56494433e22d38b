"""A kernel compiled for one set of argument types and constexpr values."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from blockscope.frontend.block_ir import emit
from blockscope.runtime.jit import LAUNCH_OPTIONS


class CompiledKernel:
    """The block IR of a kernel and the flat program that the CPU runs.

    Errors: CompilationError with the user's line when the kernel breaks a rule of the language.
    """

    def __init__(self, fn: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        self.fn = fn
        self._constants = {p.name: a.value for p, a in zip(fn.params, arguments, strict=True)
                           if p.is_constexpr}  # fmt: skip
        self.name = fn.repr(None) if fn._repr else fn.__name__
        self.src = fn
        self.hash = fn.cache_key
        builder, self._used_globals = emit(fn, arguments)
        self.program = builder.compile()
        self._builder = builder
        metadata = {**LAUNCH_OPTIONS, **options, "name": self.name, "hash": self.hash}
        # Files compute an occupancy from these two, so they must not be 0.
        metadata["shared"] = 1024
        self.n_regs = 32
        metadata.update(
            target=_target(), tmem_size=0, global_scratch_size=0, profile_scratch_size=0
        )
        self.metadata = namedtuple("KernelMetadata", sorted(metadata))(**metadata)
        self.packed_metadata = self.metadata
        self.n_spills = 0
        self.n_max_threads = 1024
        self.function = self.module = None

    @property
    def asm(self) -> dict[str, Any]:
        """The texts of the stages: ``tl`` (also as ``ttir`` and ``source``) is the block IR."""
        text = self._builder.text(True)
        return {"tl": text, "ttir": text, "source": text}

    def is_stale(self) -> bool:
        """Whether a module variable that the kernel used has another value now."""
        return any(values.get(name) is not value for values, name, value in self._used_globals)

    def _init_handles(self) -> None:
        """What GPU kernels need before n_regs is known; nothing here."""

    def __getitem__(self, grid: Any) -> Any:
        """Launch again, with all arguments or, as older files do, without the constexpr ones."""

        def launch(*args: Any, stream: Any = None) -> None:
            del stream
            names = self.fn.arg_names
            if len(args) == len(names) - len(self._constants):
                given = iter(args)
                args = tuple(
                    self._constants[n] if n in self._constants else next(given) for n in names
                )
            self.fn[grid](*args)

        return launch


def _target() -> Any:
    from blockscope.driver import driver

    return driver.active.get_current_target()
