"""The code generator's names, so that files can import them; using them is an error."""

from typing import Any

from blockscope.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    NotYetSupported,
    UnsupportedLanguageConstruct,
)


def ast_to_ttir(*args: Any, **kwargs: Any) -> Any:
    raise NotYetSupported(
        "triton.compiler.code_generator.ast_to_ttir is private to Triton; "
        "'blockscope ir FILE' prints the block IR of each launched kernel"
    )


class CodeGenerator:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        ast_to_ttir()


__all__ = [
    "CodeGenerator",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "UnsupportedLanguageConstruct",
    "ast_to_ttir",
]
