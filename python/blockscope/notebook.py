"""In notebooks: ``%load_ext blockscope``, then ``%%check``, ``%%trace`` and heat maps."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable
from typing import Any

from blockscope import checks, project
from blockscope.cli import heat_maps
from blockscope.cli.usage import UsageError
from blockscope.cli.viewer import find_viewer
from blockscope.drop_in import install_as_triton
from blockscope.language.core import tensor
from blockscope.report_html import source, values
from blockscope.report_html.interactive_map import InteractiveMap, from_csv
from blockscope.runtime.compiled_kernel import CompiledKernel

_CHECK = "%%check [CHECKS] [as NAME], such as '%%check asan,tsan as report'"
_TRACE = (
    "%%trace [T.h5] [--tensor NAME] [--launch N] [--mode reads|writes|both] [--log] "
    "[--interactive] [as NAME]"
)
_VIEW_OPTIONS = ("--tensor", "--launch", "--finding", "--program", "--mode", "--size", "--slice")


class HeatMap:
    """A picture of a trace, as ``blockscope view --png`` draws it; ``options`` are its options.

    Errors: UsageError without a viewer, ValueError when it does not draw.
    """

    def __init__(self, trace: str, **options: Any) -> None:
        self.trace = trace
        self.options = options

    def png(self) -> bytes:
        words = _words({"size": heat_maps.SIZE, **self.options})
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            file = os.path.join(folder, "map.png")
            if problem := heat_maps.draw(find_viewer(), self.trace, file, words):
                other = "; an interactive map needs none" * ("off-screen renderer" in problem)
                raise ValueError(f"no picture of '{self.trace}': {problem}{other}")
            with open(file, "rb") as stream:
                return stream.read()

    def interactive(self) -> InteractiveMap:
        """The same counts to look around in: zoom, move, an element's numbers under the pointer.

        Errors: as those of the class.
        """
        options = {k: v for k, v in self.options.items() if k not in ("size", "log", "mode")}
        text = heat_maps.table(find_viewer(), self.trace, _words(options))
        name = self.options.get("tensor")
        return InteractiveMap(
            from_csv(text, f"{name or 'a tensor'} of {os.path.basename(self.trace)}")
        )

    def _repr_png_(self) -> bytes:
        return self.png()

    def __repr__(self) -> str:
        return f"<heat map of {self.trace}>"


def _words(options: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value not in (None, False):
            words += [f"--{name}", str(value)]
    return words


def load(shell: Any) -> None:
    """Adds the magics to a shell of IPython; ``import triton`` means Blockscope from here on."""
    install_as_triton()
    shell.register_magic_function(_reporting(shell, _check), "cell", "check")
    shell.register_magic_function(_reporting(shell, _trace), "cell", "trace")
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(tensor, _block_html)
    html.for_type(CompiledKernel, _kernel_html)
    format_name = getattr(shell.compile, "format_code_name", None)
    if format_name is not None:
        source.names.append(lambda file: _cell_name(format_name(file)))


def unload(shell: Any) -> None:
    for name in ("check", "trace"):
        shell.magics_manager.magics["cell"].pop(name, None)
    for kind in (tensor, CompiledKernel):
        shell.display_formatter.formatters["text/html"].type_printers.pop(kind, None)
    source.names.clear()


def _block_html(block: Any) -> str | None:
    """In step mode, where a block has values."""
    if not block._is_stepped:
        return None
    return values.block(repr(block).partition(":")[0], block.data)


def _kernel_html(kernel: Any) -> str:
    chosen = {
        name: getattr(kernel.metadata, name, None) for name in ("num_warps", "num_stages", "shared")
    }
    target = kernel.metadata.target
    facts = {"target": f"{target.backend} {target.arch}"}
    facts |= {name: str(value) for name, value in kernel._constants.items()}
    if target.backend == "cuda":
        facts |= {name: str(value) for name, value in chosen.items() if value is not None}
        facts |= {"registers": str(kernel.data["registers"]), "spilled": str(kernel.n_spills)}
    stages = {k: kernel.asm[k] for k in ("tl", "tlg", "llir", "ptx") if k in kernel.asm}
    return values.kernel(f"kernel '{kernel.name}'", facts, stages)


def _cell_name(found: tuple[str, str] | None) -> str | None:
    """ "cell [3]" for the file that a cell is compiled as."""
    if found is None or not found[0].startswith("Cell"):
        return None
    return f"cell {found[1].removeprefix('In')}"


def _reporting(shell: Any, magic: Callable[[Any, str, str], None]) -> Callable[[str, str], None]:
    """Wrong use is one line, not a traceback."""

    def run(line: str, cell: str) -> None:
        from IPython.core.error import UsageError as WrongMagic

        try:
            magic(shell, line, cell)
        except (UsageError, ValueError, OSError) as error:
            raise WrongMagic(str(error)) from None

    run.__doc__ = magic.__doc__
    return run


def _check(shell: Any, line: str, cell: str) -> None:
    """Run the cell as a checked session, and show its report: ``%%check [CHECKS] [as NAME]``.

    ``NAME`` is a variable that the report is kept in.
    """
    words, name = _words_and_name(line, _CHECK)
    if len(words) > 1:
        raise ValueError(f"found '{line}', expected {_CHECK}")
    own = project.of_folder(os.getcwd())
    named = words[0] if words else own.checks or checks.DEFAULT_CHECKS
    with checks.check(named, **own.options) as report:
        result = _run(shell, cell)
    report.is_cut_off = not result.success
    if name is not None:
        shell.user_ns[name] = report
    _display(report)


def _trace(shell: Any, line: str, cell: str) -> None:
    """Record the launches of the cell, and show a heat map: ``%%trace [T.h5] [as NAME]``.

    ``--tensor``, ``--launch``, ``--finding`` and the like are those of ``blockscope view``;
    ``--interactive`` shows a map to look around in. Without a file the trace is kept as long as the
    kernel of the notebook lives.
    """
    words, name = _words_and_name(line, _TRACE)
    options: dict[str, Any] = {}
    files = []
    is_interactive = False
    while words:
        word = words.pop(0)
        if word == "--log":
            options["log"] = True
        elif word == "--interactive":
            is_interactive = True
        elif word in _VIEW_OPTIONS and words:
            options[word[2:]] = words.pop(0)
        elif word.startswith("-"):
            raise ValueError(f"found '{word}', expected {_TRACE}")
        else:
            files.append(word)
    if len(files) > 1:
        raise ValueError(f"found '{' '.join(files)}', expected {_TRACE}")
    find_viewer()
    folder = shell.user_ns.setdefault("_blockscope_traces", tempfile.TemporaryDirectory())
    file = files[0] if files else os.path.join(folder.name, f"cell-{shell.execution_count}.h5")
    with checks.check() as report, checks.trace(file) as recording:
        _run(shell, cell)
    if recording.launches == 0:
        print("no kernel was launched: nothing was recorded")
        return
    picture = HeatMap(file, **options)
    if is_interactive:
        _display(picture.interactive())
    else:
        _display({"image/png": picture.png(), "text/plain": repr(picture)}, raw=True)
    if name is not None:
        shell.user_ns[name] = picture
    if report:
        some = "1 finding, %%check shows it"
        print(some if len(report) == 1 else f"{len(report)} findings, %%check shows them")


def _run(shell: Any, cell: str) -> Any:
    """Runs the rest of a cell, which has the number of the whole: the shell may be at the next."""
    count = shell.execution_count
    shell.execution_count = max(1, len(shell.user_ns.get("In", ())) - 1)
    try:
        return shell.run_cell(cell)
    finally:
        shell.execution_count = count


def _words_and_name(line: str, expected: str) -> tuple[list[str], str | None]:
    words = shlex.split(line)
    if "as" not in words:
        return words, None
    place = words.index("as")
    if place != len(words) - 2 or not words[-1].isidentifier():
        raise ValueError(f"found '{line}', expected {expected}")
    return words[:place], words[-1]


def _display(shown: Any, *, raw: bool = False) -> None:
    from IPython.display import display

    display(shown, raw=raw)
