"""A launch file in the place of a script: its launches run one after another."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from blockscope.cli.script import INTERRUPTED, flush, print_user_traceback
from blockscope.cli.usage import UsageError
from blockscope.errors import LaunchFileError
from blockscope.launch_file.contents import File, Launch
from blockscope.launch_file.replay import Replay


class LaunchScript:
    """``run.blk`` on the command line; ``number`` is that of the one launch to run, if any.

    Errors: UsageError for a file that cannot be read, or that has no such launch.
    """

    def __init__(self, path: str, number: int | None) -> None:
        try:
            self.file = File(path)
        except LaunchFileError as error:
            raise UsageError(str(error)) from None
        self.launches = _chosen(self.file, number)
        self._replay: Replay | None = None

    @property
    def replay(self) -> Replay:
        """Made late: an ``import triton`` of a kernel has to mean Blockscope.

        Errors: LaunchFileError.
        """
        if self._replay is None:
            self._replay = Replay(self.file)
        return self._replay

    def close(self) -> None:
        """Python shows files again as they are on the disk."""
        if self._replay is not None:
            self._replay.close()
            self._replay = None

    def run(self, silent: tuple[type[BaseException], ...] = ()) -> int:
        """Run the launches; gives the exit status of the command. One that fails says so, and the
        next one runs. Exceptions in ``silent`` end it without a word: the caller reports them."""
        status = 0
        if made_up := [each for each in self.launches if not each.keeps_values]:
            _say(
                f"the values of {_named(made_up)} were not kept: random ones between the least "
                "and the largest of each tensor take their place"
            )
        for launch in self.launches:
            try:
                self.replay.run(launch)
            except LaunchFileError as error:
                _say(str(error))
                status = 2
            except SystemExit as stop:
                return stop.code if isinstance(stop.code, int) else 1
            except silent:
                return 1
            except KeyboardInterrupt:
                print_user_traceback()
                return INTERRUPTED
            except BaseException:
                print(f"launch {launch.number} of '{launch.kernel_name}':", file=sys.stderr)
                print_user_traceback()
                status = status or 1
            finally:
                flush()
        return status


def _chosen(file: File, number: int | None) -> Sequence[Launch]:
    if number is None:
        return file.launches
    found = [launch for launch in file.launches if launch.number == number]
    if not found:
        numbers = ", ".join(str(launch.number) for launch in file.launches[:10]) or "none"
        more = ", ..." if len(file.launches) > 10 else ""
        raise UsageError(
            f"'{file.path}' has no launch {number}, its launches are {numbers}{more} "
            f"(blockscope launches {file.path})"
        )
    return found


def _named(launches: Sequence[Launch]) -> str:
    if len(launches) == 1:
        return f"launch {launches[0].number}"
    return f"{len(launches)} launches"


def _say(text: str) -> None:
    print(f"blockscope: {text}", file=sys.stderr, flush=True)
