"""The commands ``blockscope`` and ``triton-san``.

Exit status: that of the script that is run; 66 when a check has findings of error severity; 2 when
the command itself is used wrongly.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence

if sys.stdout is None:  # closed by who called: 1 is not to be what an import opens (libffi does)
    while os.open(os.devnull, os.O_RDWR) < 1:  # 0 is closed too
        pass

from blockscope.cli import arguments, commands
from blockscope.cli.doctor import OLD_CORE, is_of_old_core
from blockscope.cli.usage import say_unwritable


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``blockscope``."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = words[0] if words else None
    parser = arguments.blockscope_parser(command)
    return _dispatch(parser, words, has_script=command in arguments.SCRIPT_COMMANDS)


def triton_san_main(argv: Sequence[str] | None = None) -> int:
    """The command ``triton-san``: ``triton-san asan [python] FILE [args]``."""
    words = list(sys.argv[1:] if argv is None else argv)
    return _dispatch(arguments.triton_san_parser(), words, has_script=True)


def _dispatch(parser: argparse.ArgumentParser, words: list[str], *, has_script: bool) -> int:
    if not words:
        parser.print_help(sys.stderr)
        return 2
    protected = words
    command = arguments.command_parser(parser, words[0])
    if has_script:
        protected = arguments.launch_file_first(
            arguments.protect_script(words, command, positional=1)
        )
    has_options = has_script or command is not parser or words[0].startswith("-")
    if has_options and (problem := arguments.misspelt_option(protected, command)):
        command.error(problem)
    options = parser.parse_args(protected)
    if sys.stdout is None:  # what is said goes nowhere
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        _check_settings()
        if protected.count("--") > words.count("--"):  # the user's says: all behind is the script's
            _warn_of_options_behind_script(parser, options)
        status = commands.COMMANDS[options.command](options)
        sys.stdout.flush()
        return status
    except commands.UsageError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1
    except OSError as error:
        if error.filename is not None:
            raise
        say_unwritable(parser.prog, error)
        return 1
    except (AttributeError, ImportError) as error:
        if not is_of_old_core(error):
            raise
        print(f"{parser.prog}: {OLD_CORE} ({error})", file=sys.stderr)
        return 1


def _check_settings() -> None:
    """Warn of variables of the environment that look like ours and are none.

    Errors: UsageError when one has a value that it may not have.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they name a line of the user, who has none yet
            settings = importlib.import_module("blockscope.settings")
        for said in settings.unknown().values():
            print(f"blockscope: warning: {said}", file=sys.stderr)
    except ImportError:
        pass  # no compiled part: commands that need it say so, and ``doctor`` runs without
    except ValueError as error:
        raise commands.UsageError(error) from None


def _warn_of_options_behind_script(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> None:
    command = arguments.command_parser(parser, options.command)
    words = options.script
    if options.command in ("trace", "record"):
        words, _ = commands.output_after_script(words, options.output)
    for word in arguments.options_behind_script(command, words):
        print(
            f"{command.prog}: warning: '{word}' stands behind the script and goes to it; put it "
            "before the script if it is meant for this command, or '--' before the script if not",
            file=sys.stderr,
        )


__all__ = ["main", "triton_san_main"]
