"""Several processes, each with a part of the seeds; one that dies of a kernel is started again."""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from random_kernels import modes

LOST = 3  # the status of a process whose GPU a kernel has broken
_BEGUN = "begun"
_IS_CHILD = "RANDOM_KERNELS_CHILD"


def is_child() -> bool:
    return bool(os.environ.get(_IS_CHILD))


def begin(seed: int) -> None:
    """Says which kernel runs now, for the process that looks after this one."""
    print(_BEGUN, seed, flush=True)


def isolated(find: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same in a forked process each time: a kernel may kill it or break its GPU."""

    def run(kernel: Any) -> Any:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            found = find(kernel)
            os.write(writer, pickle.dumps(found)[:60000])
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            answer = file.read()
        _, status = os.waitpid(child, 0)
        if status:
            return modes.Problem("process", f"ended with status {status}")
        return pickle.loads(answer)

    return run


def run(arguments: list[str], options: argparse.Namespace) -> int:
    """Runs this program in so many processes; 1 when a kernel has failed."""
    failed: list[int] = []
    threads = [
        threading.Thread(target=_one, args=(arguments, options, number, failed))
        for number in range(options.processes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return int(bool(failed))


def _one(arguments: list[str], options: argparse.Namespace, number: int, failed: list[int]) -> None:
    first, end = options.seed + number, options.seed + options.count
    stop = time.monotonic() + options.seconds
    while first < end and time.monotonic() < stop:
        command = [
            sys.executable, "-m", "random_kernels", *arguments, "--processes", "1",
            "--seed", str(first), "--count", str(end - first), "--step", str(options.processes),
            "--seconds", str(stop - time.monotonic()),
        ]  # fmt: skip
        child = subprocess.Popen(
            command, env={**os.environ, _IS_CHILD: "1"}, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith(_BEGUN):
                first = int(line.split()[1])
            else:
                print(line, end="", flush=True)
        status = child.wait()
        if status:
            failed.append(first)
        if status in (0, 1):
            return
        if not options.isolated:  # again, each try in a process of its own, to cut it down
            alone = ["--seed", str(first), "--count", "1", "--seconds", "1e9", "--isolated"]
            subprocess.run(
                [*command, *alone], env={**os.environ, _IS_CHILD: "1"}, stderr=subprocess.DEVNULL
            )
        first += options.processes
