"""What the commands take on the command line."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import Any

from blockscope import checks

SCRIPT_HELP = (
    "the Python file, or '-m MODULE', or '-c CODE'; all that follows is for the script, so options "
    "of this command come before it"
)


class _Version(argparse.Action):
    """``--version``; looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from blockscope import _core

        print(f"blockscope {_core.__version__}")
        parser.exit(0)


def positive(text: str) -> int:
    value = int(text) if text.lstrip("-").isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number of at least 1")
    return value


def number(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0")
    return int(text)


def exit_code(text: str) -> int:
    if not text.isdigit() or int(text) > 255:
        raise argparse.ArgumentTypeError(f"'{text}' is no exit status from 0 to 255")
    return int(text)


def size(text: str) -> str:
    width, separator, height = text.partition("x")
    if not separator or not (width.isdigit() and height.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is no size such as 1600x1000")
    return text


def png_file(text: str) -> str:
    if not text.lower().endswith(".png"):
        raise argparse.ArgumentTypeError(f"'{text}' does not end in .png, the only format written")
    return text


def program(text: str) -> str:
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' is no program such as 3,0,0")
    return ",".join(part.strip() for part in parts)


SCRIPT_COMMANDS = ("run", "check", "trace", "ir", "compile", "verify")


def protect_script(
    words: Sequence[str], parser: argparse.ArgumentParser, positional: int
) -> list[str]:
    """Put '--' before the script, so that argparse leaves '-m', '-c' and what follows alone.

    ``positional`` words without a dash come before the script: the command, or the checks.
    """
    words = list(words)
    takes_value = {
        name for name, option in parser._option_string_actions.items() if option.nargs != 0
    }
    place = 0
    while place < len(words):
        word = words[place]
        if word in ("-m", "-c", "--"):
            break
        if word.startswith("-") and word != "-":
            place += 2 if word in takes_value else 1
            continue
        if positional == 0:
            break
        positional -= 1
        place += 1
    if place < len(words) and words[place] != "--":
        words.insert(place, "--")
    return words


def misspelt_option(words: Sequence[str], parser: argparse.ArgumentParser) -> str:
    """What is wrong with the first word before the script that is no option of the command."""
    known = [name for name in parser._option_string_actions if name.startswith("--")]
    for word in words[: words.index("--")] if "--" in words else words:
        name = word.partition("=")[0]
        if not name.startswith("--") or any(option.startswith(name) for option in known):
            continue
        near = difflib.get_close_matches(name, known, 1)
        return f"unknown option '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")
    return ""


def options_behind_script(parser: argparse.ArgumentParser, script: Sequence[str]) -> list[str]:
    """Options of this command that stand behind the script, and therefore go to it."""
    words = list(script[1:] if script[:1] == ["--"] else script)
    own = {name for name in parser._option_string_actions if name not in ("-h", "--help")}
    rest = words[2:] if words[:1] in (["-m"], ["-c"]) else words[1:]
    return [word for word in rest if word.partition("=")[0] in own]


def command_parser(parser: argparse.ArgumentParser, command: str) -> argparse.ArgumentParser:
    """The parser of one command; of ``triton-san``, which has no commands, itself."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found: argparse.ArgumentParser = action.choices[command]
            return found
    return parser


def _add_script(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="FILE ...", help=SCRIPT_HELP)


def _add_check_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--output", metavar="F", help="write the report to F, not to the terminal")
    parser.add_argument("--max-findings", type=positive, default=100, metavar="N",
                        help="keep the first N causes (default 100)")  # fmt: skip
    parser.add_argument("--exit-code", type=exit_code, default=66, metavar="N",
                        help="exit status when there are errors (default 66)")  # fmt: skip
    parser.add_argument("--stop-at-first", action="store_true",
                        help="end at the first error; programs run one by one")  # fmt: skip
    for row in checks.table():
        for option in row["options"]:
            name, choices = option["name"].replace("_", "-"), option["choices"]
            help = f"{option['help']} ({row['name']})"
            if choices == ["off", "on"]:
                parser.add_argument(f"--{name}", action="store_const", const="on", default="off",
                                    help=help)  # fmt: skip
            else:
                parser.add_argument(f"--{name}", choices=choices, default=choices[0], help=help)


def _checks_help(otherwise: str = "") -> str:
    """What '--checks' takes, from the table of checks."""
    rows = [f"{row['name']}, {row['help']}" for row in checks.table() if row["name"]]
    reports = ", ".join(row["name"] for row in checks.table() if row["is_report"])
    every = f"all of them but {reports}: all"
    return f"{'; '.join(rows)}; {every}{otherwise} (default {checks.DEFAULT_CHECKS})"


def blockscope_parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands. Options that are read off the table of checks are there for
    ``command`` only: the table is in the extension module, which the others do not need."""
    parser = argparse.ArgumentParser(
        prog="blockscope", description="Run, check, record and look at Triton kernels."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run a file with 'import triton' meaning Blockscope")
    run.add_argument("--step", action="store_true", help="step by step, as TRITON_INTERPRET=1")
    _add_script(run)

    check = commands.add_parser("check", help="run a file and report its mistakes")
    if command == "check":
        check.add_argument("--checks", default=checks.DEFAULT_CHECKS, metavar="LIST",
                           help=f"one or more: {_checks_help()}")  # fmt: skip
        _add_check_options(check)
    _add_script(check)

    trace = commands.add_parser("trace", help="run a file and record its accesses")
    trace.add_argument("-o", "--output", metavar="T.h5",
                       help="the trace file (default trace.h5); FILE may come before")  # fmt: skip
    if command == "trace":
        trace.add_argument("--checks", default=checks.DEFAULT_CHECKS, metavar="LIST",
                           help=f"whose findings to record: {_checks_help('; none')}")  # fmt: skip
    _add_script(trace)

    view = commands.add_parser("view", help="look at a trace")
    view.add_argument("trace", metavar="T.h5")
    view.add_argument(
        "--png", metavar="OUT.png", type=png_file, help="draw into a .png file, without a display"
    )
    view.add_argument("--tensor", metavar="NAME", help="the tensor to show")
    view.add_argument("--program", type=program, metavar="X,Y,Z", help="the program to show")
    view.add_argument("--launch", type=number, metavar="N",
                      help="which launch, from 0 (default: the first with findings)")  # fmt: skip
    view.add_argument("--size", type=size, metavar="WxH", help="size in pixels, such as 1600x1000")
    view.add_argument("--op", type=number, metavar="N", help="the op to choose")
    view.add_argument("--finding", type=number, metavar="N", help="the finding to choose")
    view.add_argument("--cell", metavar="ROW,COLUMN", help="the element to choose")
    view.add_argument("--slice", type=number, metavar="N", help="of a tensor of many dimensions")
    view.add_argument("--mode", choices=["reads", "writes", "both"], help="what the map counts")
    view.add_argument("--log", action="store_true", help="logarithmic colours")
    view.add_argument("--csv", choices=["heat", "programs", "ops", "lines", "findings"],
                      help="print a table instead")  # fmt: skip

    explain = commands.add_parser("explain", help="explain a finding code")
    explain.add_argument("code", nargs="?", metavar="CODE", help="none: list the codes")

    ir = commands.add_parser("ir", help="run a file and print the block IR of its kernels")
    ir.add_argument("-o", "--output", metavar="F", help="write to F, not to the terminal")
    _add_script(ir)

    compile = commands.add_parser("compile", help="run a file on the CPU and compile its kernels "
                                  "for GPUs: registers, spills, occupancy, and warnings of what "
                                  "makes them slow")  # fmt: skip
    compile.add_argument("--target", default="sm_90a", metavar="LIST",
                         help="one or more, such as sm_80,sm_90a (default sm_90a)")  # fmt: skip
    compile.add_argument("--emit", choices=["tl", "plan", "tlg", "llir", "ptx", "cubin"],
                         help="print a stage of each kernel")  # fmt: skip
    compile.add_argument("--time", action="store_true", help="print the time of each stage")
    compile.add_argument("--notes", action="store_true",
                         help="print also what may well be meant")  # fmt: skip
    compile.add_argument("--json", action="store_true",
                         help="print all as JSON when the file has run")  # fmt: skip
    compile.add_argument("-o", "--output", metavar="FOLDER",
                         help="write what --emit names to files there")  # fmt: skip
    _add_script(compile)

    verify = commands.add_parser("verify", help="run each launch of a file on the CPU and on the "
                                 "GPU, and compare what it writes")  # fmt: skip
    verify.add_argument("--exit-code", type=exit_code, default=66, metavar="N",
                        help="exit status when there is a difference (default 66)")  # fmt: skip
    verify.add_argument("--algebra", action="store_true",
                        help="compute floats as integers on both sides and compare bit for bit, "
                        "without a tolerance (docs/algebra.md)")  # fmt: skip
    _add_script(verify)

    same = commands.add_parser("same", help="run two files in the algebra of docs/algebra.md, and "
                               "say whether their tensors of the same name come from the same "
                               "formulas")  # fmt: skip
    same.add_argument("one", metavar="ONE.py")
    same.add_argument("other", metavar="OTHER.py")

    commands.add_parser("doctor", help="say what was found on this machine")
    return parser


def triton_san_parser() -> argparse.ArgumentParser:
    names = "|".join([*checks.CHECKS, "all"])
    found = "; ".join(f"{row['help']} ({row['name']})" for row in checks.table() if row["name"])
    parser = argparse.ArgumentParser(
        prog="triton-san",
        description=f"Run a Python file and report mistakes of its Triton kernels: {found}.",
        usage=f"triton-san [options] {names} [python] FILE [args]",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    _add_check_options(parser)
    parser.add_argument("checks", metavar=names)
    _add_script(parser)
    parser.set_defaults(command="triton-san")
    return parser
