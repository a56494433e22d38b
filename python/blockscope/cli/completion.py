"""What a shell needs to complete these commands, which shtab makes of their parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from blockscope import checks
from blockscope.cli import arguments, explain
from blockscope.cli.usage import UsageError

SHELLS = ("bash", "zsh", "fish")

_FILES = ("script", "output", "baseline", "write_baseline", "trace", "png", "one", "other")
_BASH = """
_blockscope_list() { # words for the part behind the last comma
  local head=""
  [[ $1 == *,* ]] && head="${1%,*},"
  compgen -P "$head" -W "$2" -- "${1##*,}"
}
"""


def script(shell: str) -> str:
    """Errors: UsageError without shtab."""
    try:
        import shtab
    except ImportError:
        said = "completion needs shtab ('pip install shtab', or the extra 'completion')"
        raise UsageError(said) from None
    from blockscope import _core

    words = {
        "checks": ["all", *checks.CHECKS],
        "targets": [row["arch"] for row in _core.gpu.targets()],
        "codes": explain.codes(),
    }
    preamble = ""
    if shell == "bash":
        preamble = _BASH + "".join(
            f'_blockscope_{name}() {{ _blockscope_list "$1" "{" ".join(each)}"; }}\n'
            for name, each in words.items()
        )
    parts = []
    for parser in (arguments.blockscope_parser(arguments.EVERY), arguments.triton_san_parser()):
        for each in _parsers(parser):
            _say_what_to_complete(each, words, shtab.FILE)
        parts.append(shtab.complete(parser, shell, preamble=preamble))
    return "\n".join(parts)


def _parsers(parser: argparse.ArgumentParser) -> Iterable[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def _say_what_to_complete(
    parser: argparse.ArgumentParser, words: dict[str, list[str]], files: Any
) -> None:
    names = {"checks": "checks", "target": "targets", "code": "codes"}
    for action in parser._actions:
        found: Any = action
        if action.dest in names:
            name = names[action.dest]
            listed = " ".join(words[name])
            found.help = f"{name}, with commas" if name != "codes" else "of a finding"
            kind = f"_values {name}" if name == "codes" else f"_values -s , {name}"
            found.complete = {
                "bash": f"_blockscope_{name}",
                "zsh": f"{{{kind} {listed}}}",
                "fish": listed,
            }
        elif action.dest in _FILES:
            found.complete = files
