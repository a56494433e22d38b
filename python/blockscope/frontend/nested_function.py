"""Functions and lambdas that a kernel defines for itself.

They are inlined where they are called, as @jit functions are, and see the names of the kernel as
these are at the call.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from blockscope.frontend.kernel_function import Inlined, KernelParam
from blockscope.frontend.source import FunctionSource


class NestedFunction(Inlined):
    """``frame`` is that of the function around it; ``defaults`` are values of its parameters."""

    def __init__(
        self, frame: Any, node: ast.FunctionDef | ast.Lambda, defaults: dict[str, Any]
    ) -> None:
        self.__name__ = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        self.fn = frame.fn.fn
        self.function_source: FunctionSource = frame.source
        self.params = [
            KernelParam(index, parameter, specialize=True)
            for index, parameter in enumerate(_parameters(node.args, defaults))
        ]
        self._frame = frame
        self._node = node

    def surrounding(self) -> dict[str, Any]:
        return dict(self._frame.values)

    @property
    def statements(self) -> list[ast.stmt]:
        if isinstance(self._node, ast.FunctionDef):
            return self._node.body
        return [ast.copy_location(ast.Return(self._node.body), self._node.body)]


def _parameters(arguments: ast.arguments, defaults: dict[str, Any]) -> list[inspect.Parameter]:
    kinds = inspect.Parameter
    found = [
        (kinds.POSITIONAL_OR_KEYWORD, [*arguments.posonlyargs, *arguments.args]),
        (kinds.VAR_POSITIONAL, [arguments.vararg] if arguments.vararg else []),
        (kinds.KEYWORD_ONLY, arguments.kwonlyargs),
    ]
    return [
        inspect.Parameter(
            argument.arg,
            kind,
            default=defaults.get(argument.arg, kinds.empty),
            annotation=ast.unparse(argument.annotation) if argument.annotation else kinds.empty,
        )
        for kind, group in found
        for argument in group
    ]


def default_nodes(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The expressions of the defaults, by parameter."""
    positional = [*arguments.posonlyargs, *arguments.args]
    last = positional[len(positional) - len(arguments.defaults) :]
    found = {a.arg: node for a, node in zip(last, arguments.defaults, strict=True)}
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {**found, **{a.arg: node for a, node in named if node is not None}}
