"""The parser of the command line: what its help and its errors look like."""

from __future__ import annotations

import argparse
import os
import textwrap
from typing import Any

from blockscope.cli.usage import either, nearest


class Help(argparse.HelpFormatter):
    """Lines of a text with a tab are a table: a name, and behind the tab what it means."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\t" not in text:
            return super()._fill_text(text, width, indent)
        rows = [line.partition("\t") for line in text.splitlines()]
        column = max(len(name) for name, tab, _ in rows if tab) + 4
        lines = []
        for name, tab, meaning in rows:
            if tab:
                head = f"  {name}".ljust(column)
                lines += textwrap.wrap(meaning, max(width, column + 20), initial_indent=head,
                                       subsequent_indent=" " * column)  # fmt: skip
            else:
                lines.append(name)
        return "\n".join(lines)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):  # whose lines stand further in
            self._action_max_length += self._indent_increment


class CommandParser(argparse.ArgumentParser):
    """Says what a wrong word is near to, and leaves out a usage of many lines."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", Help)
        super().__init__(**options)

    def error(self, message: str) -> Any:
        usage = self.format_usage()
        if usage.count("\n") > 2:
            usage = f"usage: see '{self.prog} --help'\n"
        self.exit(2, f"{usage}{self.prog}: error: {message}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        near = nearest(str(value), known)
        if isinstance(action, argparse._SubParsersAction):
            if f"--{value}" in self._option_string_actions:  # "help", "version"
                near = f"; did you mean '--{value}'?"
            elif os.path.isfile(str(value)):
                near = f": it is a file, as in '{self.prog} check {value}'"
            more = near or f"; '{self.prog} --help' lists them"
            raise argparse.ArgumentError(None, f"unknown command '{value}'{more}")
        more = near or f", expected {either(known)}"
        raise argparse.ArgumentError(action, f"invalid choice: '{value}'{more}")
