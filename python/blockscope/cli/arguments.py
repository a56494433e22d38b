"""What the commands take on the command line."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import Any

from blockscope import checks
from blockscope.cli.launch_files import is_launch_file
from blockscope.cli.parser import CommandParser
from blockscope.cli.usage import nearest
from blockscope.runtime.backends.cuda import gpu_names

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


def seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds up to 3600")
    return found


def budget(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds")
    return found


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


EVERY = "every command"
SCRIPT_COMMANDS = ("run", "check", "trace", "ir", "compile", "verify", "record", "step")
#: Commands that take launch files.
LAUNCH_COMMANDS = (
    "run", "check", "trace", "ir", "compile", "verify", "step", "bench", "launches", "reduce",
    "sweep",
)  # fmt: skip


#: What other tools call our options.
_OTHER_NAMES = {"--arch": "--target", "--gpu": "--target", "--device": "--target"}


def protect_script(
    words: Sequence[str], parser: argparse.ArgumentParser, positional: int
) -> list[str]:
    """Put '--' before the script, so that argparse leaves '-m', '-c' and what follows alone.

    ``positional`` words without a dash come before the script: the command, or the checks. The
    checks are put behind the options: people write options on both sides of them.
    """
    options: list[str] = []
    first: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word in ("-m", "-c", "--"):
            break
        if word.startswith("-") and word != "-":
            count = 2 if _takes_value(parser, word) else 1
            options += words[place : place + count]
            place += count
            continue
        if positional == 0:
            break
        positional -= 1
        first.append(word)
        place += 1
    has_command = parser.get_default("command") is None
    before = [*first, *options] if has_command else [*options, *first]
    rest = list(words[place:])
    return [*before, *(["--"] if rest and rest[0] != "--" else []), *rest]


def _takes_value(parser: argparse.ArgumentParser, word: str) -> bool:
    """Whether an option takes the next word; it may be written as the beginning of its name."""
    known = parser._option_string_actions
    names = [word] if word in known or not word.startswith("--") else []
    names = names or [name for name in known if name.startswith(word)]
    return len(names) == 1 and names[0] in known and known[names[0]].nargs != 0


def misspelt_option(words: Sequence[str], parser: argparse.ArgumentParser) -> str:
    """What is wrong with the first word before the script that is no option of the command."""
    known = [name for name in parser._option_string_actions if name.startswith("--")]
    is_value = False
    for word in words[: words.index("--")] if "--" in words else words:
        name = word.partition("=")[0]
        is_option = name.startswith("--") and not is_value
        is_value = not is_value and _takes_value(parser, word)
        if not is_option or any(option.startswith(name) for option in known):
            continue
        other = _OTHER_NAMES.get(name)
        if other in known:
            return f"unknown option '{name}'; did you mean '{other}'?"
        return f"unknown option '{name}'" + nearest(name, [k for k in known if k != "--help"])
    return ""


def options_behind_script(parser: argparse.ArgumentParser, script: Sequence[str]) -> list[str]:
    """Options of this command that stand behind the script, and therefore go to it."""
    words = list(script[1:] if script[:1] == ["--"] else script)
    own = {name for name in parser._option_string_actions if name not in ("-h", "--help")}
    rest = words[2:] if words[:1] in (["-m"], ["-c"]) else words[1:]
    return [word for word in rest if word.partition("=")[0] in own]


def command_parser(parser: argparse.ArgumentParser, command: str) -> argparse.ArgumentParser:
    """The parser of one command; where there is no such command, as in ``triton-san``, itself."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found: argparse.ArgumentParser = action.choices.get(command, parser)
            return found
    return parser


def _add_script(parser: argparse.ArgumentParser, *, takes_launches: bool = True) -> None:
    if takes_launches:
        _add_launch(parser)
    help = SCRIPT_HELP + ("; or a launch file: run.blk" if takes_launches else "")
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="FILE ...", help=help)


def _add_launch(parser: argparse.ArgumentParser, otherwise: str = "all") -> None:
    help = f"of a launch file, launch N alone (default: {otherwise})"
    parser.add_argument("--launch", type=number, metavar="N", dest="launch_number", help=help)


def launch_file_first(words: Sequence[str]) -> list[str]:
    """Options behind a launch file are the command's: a launch file takes none. Gives the words
    with them before it."""
    words = list(words)
    place = words.index("--") + 1 if "--" in words else len(words)
    if place >= len(words) or not is_launch_file(words[place]):
        return words
    return [*words[: place - 1], *words[place + 1 :], "--", words[place]]


def program_numbers(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in program(text).split(",")]
    return tuple([*numbers, 0, 0][:3])


def _add_check_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=["text", "json", "sarif", "github", "html"],
                        default="text", help="github: annotations of a workflow's log; html: a "
                        "page of its own; all but text go to standard output, and what the script "
                        "prints to standard error")  # fmt: skip
    parser.add_argument("--heat-maps", action="store_true",
                        help="with html: pictures of what findings touched, for which the run is "
                        "recorded")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="F",
                        help="write the report to F, not to the terminal")  # fmt: skip
    parser.add_argument("--baseline", metavar="F",
                        help="findings that F has fail nothing; off: without the one of "
                        "pyproject.toml")  # fmt: skip
    parser.add_argument("--write-baseline", metavar="F",
                        help="write what is found to F, or bring F up to date")  # fmt: skip
    parser.add_argument("--max-findings", type=positive, metavar="N",
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
                parser.add_argument(f"--{name}", action="store_const", const="on",
                                    help=help)  # fmt: skip
            else:
                parser.add_argument(f"--{name}", choices=choices, help=help)


def _table_of_checks(parser: argparse.ArgumentParser, otherwise: str = "") -> None:
    """What '--checks' takes, from the table of checks, below the options."""
    rows = [(row["name"], row["help"]) for row in checks.table() if row["name"]]
    but = ", ".join(row["name"] for row in checks.table() if row["is_report"])
    rows.append(("all", f"all of them but {but}"))
    lines = [f"{name}\t{help}" for name, help in rows]
    parser.epilog = "\n".join(["checks:", *lines, *([otherwise] if otherwise else [])])


def _add_checks(
    parser: argparse.ArgumentParser, command: str | None, what: str, *, otherwise: str = "",
    more: str = "",
) -> None:  # fmt: skip
    """'--checks', where ``command`` is the one of the parser, or ``EVERY``: its help is read off
    the table of checks."""
    if command == EVERY or command == parser.prog.rpartition(" ")[2]:
        _table_of_checks(parser, otherwise)
        default = f"those of pyproject.toml, else {checks.DEFAULT_CHECKS}"
        help = f"{what}, with commas, of those below (default: {default}){more}"
        parser.add_argument("--checks", metavar="LIST", help=help)


def _add_command(commands: Any, name: str, *, help: str) -> argparse.ArgumentParser:
    """A command, whose own help begins with what the list of commands says."""
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=f"{help[0].upper()}{help[1:]}."
    )
    return made


def blockscope_parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands. Options that are read off the table of checks are there for
    ``command`` only, or ``EVERY``: the table is in the extension module, which the others do not
    need."""
    parser = CommandParser(
        prog="blockscope",
        description="Run, check, record and look at Triton kernels.",
        epilog="'blockscope COMMAND --help' says what a command takes.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", title="commands"
    )
    add = functools.partial(_add_command, commands)

    run = add("run", help="run a file with 'import triton' meaning Blockscope")
    run.add_argument("--step", action="store_true", help="step by step, as TRITON_INTERPRET=1")
    _add_script(run)

    check = add("check", help="run a file and report its mistakes")
    _add_checks(check, command, "what to look for")
    if command in ("check", EVERY):
        check.add_argument(
            "--watch",
            action="store_true",
            help="check again whenever the file, or "
            "a local module that it imports, is saved; Ctrl-C ends",
        )
        _add_check_options(check)
    _add_script(check)

    trace = add("trace", help="run a file and record its accesses")
    trace.add_argument(
        "-o",
        "--output",
        metavar="T.h5",
        help="the trace file (default trace.h5); may stand behind FILE",
    )
    _add_checks(trace, command, "whose findings to record", otherwise="none\tno findings")
    trace.add_argument("--values", action="store_true",
                       help="record values, too; programs run one after another")  # fmt: skip
    trace.add_argument("--target", metavar="GPU",
                       help="predict for a GPU: an architecture such as sm_90, or one of "
                            f"{gpu_names.SHOWN}")  # fmt: skip
    _add_script(trace)

    view = add("view", help="look at a trace, a launch file, a folder of traces, or at two runs")
    view.add_argument("trace", nargs="?", metavar="PATH",
                      help="T.h5, run.blk (it is recorded first), or a folder")  # fmt: skip
    view.add_argument("--compare", nargs=2, metavar=("A", "B"),
                      help="two runs, T.h5 or run.blk: side by side, and A minus B")  # fmt: skip
    view.add_argument("--tour", action="store_true", help="say what is what, at an example")
    view.add_argument("--step", type=positive, metavar="N", help="of the tour, from 1")
    view.add_argument("--checks", metavar="LIST",
                      help="of a launch file: whose findings to record, as of 'blockscope "
                      "trace'")  # fmt: skip
    view.add_argument(
        "--png", metavar="OUT.png", type=png_file, help="draw into a .png file, without a display"
    )
    view.add_argument("--tensor", metavar="NAME", help="the tensor to show")
    view.add_argument("--program", type=program, metavar="X,Y,Z", help="the program to show")
    view.add_argument("--launch", type=number, metavar="N",
                      help="which launch, from 0 (default: the first with findings); of a "
                      "launch file by its number, and it alone is recorded")  # fmt: skip
    view.add_argument("--size", type=size, metavar="WxH", help="size in pixels, such as 1600x1000")
    view.add_argument("--op", type=number, metavar="N", help="the op to choose, as in --csv ops")
    view.add_argument("--finding", type=number, metavar="N", help="the finding to choose, from 0")
    view.add_argument("--cell", metavar="ROW,COLUMN", help="the element to choose")
    view.add_argument("--slice", type=number, metavar="N", help="of a tensor of many dimensions")
    view.add_argument("--mode", choices=["reads", "writes", "both"], help="what the map counts")
    view.add_argument("--log", action="store_true", help="logarithmic colours")
    view.add_argument("--time", type=number, metavar="N", help="only the first N access runs")
    view.add_argument("--window", type=number, metavar="N", help="only N access runs around --time")
    view.add_argument("--panel", choices=["history", "traffic", "roofline"],
                      help="what is open below the map")  # fmt: skip
    view.add_argument("--text-size", type=number, metavar="PERCENT", help="75 to 200")
    view.add_argument("--colors", choices=["viridis", "cividis", "grey"], help="of counts")
    view.add_argument("--difference-colors", choices=["blue-orange", "purple-green"])
    view.add_argument("--csv", choices=["heat", "programs", "ops", "lines", "findings", "history",
                                        "traffic", "roofline", "tensors", "launches", "traces"],
                      help="print a table instead; of two runs heat, tensors or launches, of a "
                      "folder traces")  # fmt: skip

    explain = add("explain", help="explain a finding code, or list the codes of checks")
    explain.add_argument("code", nargs="?", metavar="CODE|CHECKS", help="none: list the codes")

    ir = add("ir", help="run a file and print the block IR of its kernels")
    ir.add_argument("-o", "--output", metavar="F", help="write to F, not to the terminal")
    _add_script(ir)

    compile = add(
        "compile",
        help="run a file on the CPU and compile its kernels "
        "for GPUs: registers, spills, occupancy, and warnings of what "
        "makes them slow",
    )
    compile.add_argument("--target", default="sm_90a", metavar="LIST",
                         help="one or more, such as sm_80,h200 (default sm_90a): architectures, or "
                              f"GPUs such as {gpu_names.SHOWN}")  # fmt: skip
    compile.add_argument("--emit", choices=["tl", "plan", "tlg", "llir", "ptx", "cubin"],
                         help="print a stage of each kernel")  # fmt: skip
    compile.add_argument("--time", action="store_true", help="print the time of each stage")
    compile.add_argument("--notes", action="store_true",
                         help="print also what may well be meant")  # fmt: skip
    compile.add_argument("--json", action="store_true",
                         help="print all as JSON when the file has run")  # fmt: skip
    compile.add_argument("-o", "--output", metavar="FOLDER",
                         help="write what --emit names, else PTX, to files there")  # fmt: skip
    _add_script(compile)

    verify = add(
        "verify",
        help="run each launch of a file on the CPU and on the GPU, and compare what it writes",
    )
    verify.add_argument("--exit-code", type=exit_code, default=66, metavar="N",
                        help="exit status when there is a difference (default 66)")  # fmt: skip
    verify.add_argument("--algebra", action="store_true",
                        help="compute floats as integers on both sides and compare bit for bit, "
                        "without a tolerance (docs/algebra.md)")  # fmt: skip
    _add_script(verify)

    record = add(
        "record",
        help="run a file and write its launches to a file, "
        "each with kernel and arguments, to be run elsewhere",
    )
    record.add_argument("-o", "--output", metavar="RUN.blk",
                        help="the file (default run.blk); may stand behind FILE")  # fmt: skip
    kept = record.add_mutually_exclusive_group()
    kept.add_argument("--on-finding", action="store_true",
                      help="only launches that fail, or have a finding")  # fmt: skip
    kept.add_argument("--on-mismatch", action="store_true",
                      help="only launches that fail, or whose results on the CPU and on the GPU "
                      "differ, as verify compares them")  # fmt: skip
    record.add_argument("--no-values", action="store_true",
                        help="of tensors, write sizes and the least and largest value")  # fmt: skip
    record.add_argument("--limit", type=positive, default=1000, metavar="N",
                        help="write the first N launches (default 1000)")  # fmt: skip
    _add_checks(record, command, "checks to run under", more="; without --on-finding: none")
    _add_script(record, takes_launches=False)

    launches = add("launches", help="say what is in a launch file; nothing of it is run")
    _add_launch(launches)
    launches.add_argument("--source", action="store_true",
                          help="print the recorded source of the kernels, too")  # fmt: skip
    launches.add_argument("file", metavar="RUN.blk")

    step = add("step", help="run a file step by step; pdb opens at the first line of each kernel")
    step.add_argument("--program", type=program_numbers, metavar="X,Y,Z", default=(0, 0, 0),
                      help="the program in which to stop (default 0,0,0)")  # fmt: skip
    _add_script(step)

    bench = add("bench", help="time the launches of a launch file on the CPU")
    _add_launch(bench)
    bench.add_argument(
        "--seconds",
        type=seconds,
        default=0.5,
        metavar="S",
        help="how long to run each (default 0.5)",
    )
    bench.add_argument("file", metavar="RUN.blk")

    reduce = add(
        "reduce",
        help="make a failing launch of a launch file small, and "
        "write it as a Python file of a few lines",
    )
    _add_launch(reduce, "the first one with a finding")
    reduce.add_argument("-o", "--output", metavar="SMALL.py", default="small.py",
                        help="the file to write (default small.py)")  # fmt: skip
    reduce.add_argument("--finding", metavar="CODE",
                        help="what has to stay (default: the first error)")  # fmt: skip
    reduce.add_argument("--seconds", type=seconds, default=120.0, metavar="S",
                        help="how long to try (default 120)")  # fmt: skip
    _add_checks(reduce, command, "checks to run under")
    reduce.add_argument("file", metavar="RUN.blk")

    sweep = add(
        "sweep",
        help="check a launch of a launch file, or a function that "
        "launches, for many values of its parameters",
    )
    _add_launch(sweep)
    sweep.add_argument("--vary", action="append", metavar="LIST",
                       help="names with their values, such as n=1..4096:64,BLOCK=64,128; "
                       "1..4096:x2 doubles, a=b=1,2 varies both together")  # fmt: skip
    sweep.add_argument("--grid", metavar="FORMULA",
                       help="such as 'cdiv(n, BLOCK)' (default: what the recorded grid leaves no "
                       "doubt about)")  # fmt: skip
    sweep.add_argument(
        "--set",
        action="append",
        metavar="NAME=FORMULA",
        help="a parameter that follows, such as 'BLOCK=next_power_of_2(n)'",
    )
    sweep.add_argument(
        "--keep", action="append", metavar="NAME", help="a number that stays as it was"
    )
    sweep.add_argument(
        "--fixed-sizes", action="store_true", help="arguments vary, tensors stay as they were"
    )
    sweep.add_argument("-o", "--output", metavar="F",
                       help="the file of results, which a later run goes on with (default "
                       "sweep-ID.jsonl)")  # fmt: skip
    sweep.add_argument("--again", action="store_true",
                       help="drop the results that the file of results has, and run all "
                       "points")  # fmt: skip
    sweep.add_argument("--html", metavar="F", help="write a page with charts and reports")
    sweep.add_argument("--format", choices=["text", "json"], default="text")
    sweep.add_argument("--seconds", type=budget, metavar="S", help="begin no point after S seconds")
    sweep.add_argument("--limit", type=positive, metavar="N", help="run at most N points")
    sweep.add_argument("--point-seconds", type=seconds, default=60.0, metavar="S",
                       help="end a point that takes longer (default 60)")  # fmt: skip
    sweep.add_argument("--stop-at-first", action="store_true", help="end at the first error")
    sweep.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="run the points on a Ray cluster; local: one of this machine's",
    )
    sweep.add_argument("--exit-code", type=exit_code, default=66, metavar="N",
                       help="exit status when there are errors (default 66)")  # fmt: skip
    _add_checks(sweep, command, "what to look for")
    sweep.add_argument("file", metavar="RUN.blk|FILE.py:FUNCTION")

    same = add(
        "same",
        help="run two files with integers in the place of floats, whose sums and "
        "products have no rounding, and say whether their tensors of the same name "
        "come from the same formulas",
    )
    same.add_argument("one", metavar="ONE.py")
    same.add_argument("other", metavar="OTHER.py")

    add("doctor", help="say what was found on this machine")

    completion = add(
        "completion", help="print what a shell needs to complete these commands (needs shtab)"
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    return parser


def triton_san_parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="triton-san",
        description="Run a Python file and report mistakes of its Triton kernels.",
        usage="triton-san [options] CHECKS [python] FILE [args]",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    _add_check_options(parser)
    parser.add_argument(
        "checks", metavar="CHECKS", help="one or more of those below, with commas: asan,tsan"
    )
    _table_of_checks(parser)
    _add_script(parser)
    parser.set_defaults(command="triton-san")
    return parser
