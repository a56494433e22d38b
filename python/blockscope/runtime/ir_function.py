"""Kernels that are given as block IR, in the text that ``blockscope ir`` prints."""

from __future__ import annotations

import hashlib
import keyword
import linecache
import os
import re
from typing import Any

from blockscope import _core
from blockscope.errors import CompilationError, NotYetSupported
from blockscope.runtime.jit import JITFunction
from blockscope.runtime.specialization import short_name

EXPECTED = (
    "expected the text of one kernel as 'blockscope ir FILE' prints it, and kernel.asm['tl'] has it"
)
#: What other stages begin with, and what to do with them.
_FOREIGN = (
    (re.compile(r"\btt\.func\b|#ttg\.|\bttg\."), "the IR of Triton"),
    (re.compile(r"^\s*\.version\b", re.M), "PTX"),
    (re.compile(r"^(define|target triple)\b", re.M), "LLVM IR"),
    (re.compile(r"\btlg\."), "the GPU-level IR"),
)


class IRFunction(JITFunction[Any]):
    """A kernel whose code is the text in ``block_ir``. It has the arguments of the text's function,
    and is launched as others are, but not step by step.

    Errors: NotYetSupported for the text of another stage, CompilationError for one that is none.
    """

    def __init__(self, path: str, text: str) -> None:
        self.block_ir = _checked(path, text)
        self.path = path
        try:
            name, arguments = _core.IrBuilder(False, False).read(self.block_ir)
        except ValueError as error:
            raise CompilationError(None, None, f"'{path}': {error}; {EXPECTED}") from None
        #: The types of the arguments; integers have no sign there.
        self.types = [kind for _, kind in arguments]
        function = _function(path, name, [each for each, _ in arguments], self)
        super().__init__(function, do_not_specialize=range(len(arguments)))


def read(path: Any) -> IRFunction:
    """The kernel in a file. Errors: OSError, and those of ``IRFunction``."""
    path = os.fspath(path)
    with open(path, "rb") as file:
        data = file.read()
    try:
        return IRFunction(path, data.decode())
    except UnicodeDecodeError:
        raise NotYetSupported(f"'{path}' is binary; {EXPECTED}{_OVERRIDE}") from None


_OVERRIDE = (
    "; an edited .ptx or .cubin takes the place of a kernel's by ir_override= of its launch or "
    "TRITON_KERNEL_OVERRIDE=1 (docs/host.md)"
)


def _checked(path: str, text: str) -> str:
    for pattern, what in _FOREIGN:
        if pattern.search(text):
            raise NotYetSupported(f"'{path}' is {what}; {EXPECTED}{_OVERRIDE}")
    kernels = re.findall(r"^\s*func\.func\s+@([\w$.]+)", text, re.M)
    if len(kernels) > 1:
        raise CompilationError(
            None, None, f"'{path}' has {len(kernels)} kernels: {', '.join(kernels)}; {EXPECTED}"
        )
    return text


def _function(path: str, name: str, names: list[str], fn: IRFunction) -> Any:
    """A Python function with the kernel's name and parameters, for all that asks a kernel for
    its Python function. It is not run: ``block_ir`` is."""
    parameters: list[str] = []
    for number, given in enumerate(names):
        word = re.sub(r"\W", "_", given) or f"arg{number}"
        if word[0].isdigit() or keyword.iskeyword(word):
            word = f"_{word}"
        while word in parameters:
            word += "_"
        parameters.append(word)
    typed = ", ".join(
        f"{word}: '{short_name(kind)}'" for word, kind in zip(parameters, fn.types, strict=True)
    )
    word = name if name.isidentifier() and not keyword.iskeyword(name) else "kernel"
    digest = hashlib.sha256(fn.block_ir.encode()).hexdigest()
    source = (
        f"def {word}({typed}):\n"
        f"    raise NotYetSupported({f'a kernel of IR ({path}) cannot be stepped through'!r})\n"
        f"    # {digest}\n"
    )
    file = f"<blockscope ir {path} {digest[:16]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space: dict[str, Any] = {"__name__": "__main__", "NotYetSupported": NotYetSupported}
    exec(compile(source, file, "exec", dont_inherit=True), space)
    function = space[word]
    function.__name__ = function.__qualname__ = name
    return function
