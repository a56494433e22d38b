"""Points on the machines of a Ray cluster: in chunks of about a second, each point once more where
its process or its machine ends, with the same results as here.
"""

from __future__ import annotations

import collections
import importlib
import os
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blockscope import _core
from blockscope.sweep.plan import Plan, Request
from blockscope.sweep.result import Result

_SECONDS_OF_CHUNK = 1.0
_MOST_OF_CHUNK = 512
_CHUNKS_AHEAD = 2  # for each processor: one runs, one waits beside it
_MOST_CRASHES = 2  # of a point that runs alone
_MOST_LOSSES = 6  # by machines that end
_STORE_BYTES = 256 << 20
_SECONDS_TO_ANSWER = 10.0

_plans: dict[str, Plan] = {}  # of this process, which runs many chunks


@dataclass
class _Chunk:
    indices: list[int]
    crashes: int = 0
    losses: int = 0


class RayError(Exception):
    """Ray is missing, cannot be reached, or has another Blockscope."""


def results_on_ray(plan: Plan, todo: Sequence[int], address: str) -> Iterator[Result]:
    """The results of points as they come. ``address`` is that of a cluster, or ``local``.

    Errors: RayError.
    """
    ray = _ray()
    _connect(ray, address)
    try:
        yield from _Spread(ray, plan, todo).results()
    finally:
        ray.shutdown()


def _ray() -> Any:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise RayError(
            "--ray needs Ray: pip install 'blockscope[ray]' or pip install ray"
        ) from None


def _connect(ray: Any, address: str) -> None:
    options: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": "ERROR",
        "include_dashboard": False,
    }
    _check_answers(address)
    try:
        if address == "local":
            ray.init(address="local", object_store_memory=_STORE_BYTES, **options)
        else:
            options.pop("include_dashboard")
            ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        said = str(error).strip().splitlines()
        raise _no_ray_at(address, said[0] if said else type(error).__name__) from None


def _check_answers(address: str) -> None:
    """Ray itself waits for minutes where nobody answers. Errors: RayError."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise _no_ray_at(address, getattr(error, "strerror", None) or str(error)) from None


def _no_ray_at(address: str, why: str) -> RayError:
    return RayError(
        f"there is no Ray at '{address}' ({why}), expected local, auto, or an address such as "
        "10.0.0.1:6379"
    )


def run_chunk(request: Request, content: bytes | None, version: str, chunk: list[int]) -> Any:
    """In a process of Ray's: the results of some points as plain data, or why there are none."""
    if _core.__version__ != version:
        return f"it has Blockscope {_core.__version__}, and {version} asks"
    from blockscope.drop_in import install_as_triton

    key = repr(replace(request, content=None)) + str(len(content or b""))
    if key not in _plans:
        install_as_triton()
        _plans.clear()
        try:
            _plans[key] = replace(request, content=content).plan()
        except (ValueError, OSError) as error:
            return f"the sweep cannot be made there: {error}"
    return [_plans[key].run(index).as_json() for index in chunk]


class _Spread:
    """Keeps every processor of the cluster at work until all points have a result."""

    def __init__(self, ray: Any, plan: Plan, todo: Sequence[int]) -> None:
        self._ray, self._plan = ray, plan
        self._todo = collections.deque(todo)
        self._again: collections.deque[_Chunk] = collections.deque()
        self._running: dict[Any, _Chunk] = {}
        self._request = replace(plan.request, content=None, path=os.path.abspath(plan.request.path))
        content = None
        if not plan.request.function:
            with open(plan.request.path, "rb") as file:
                content = file.read()
        self._content = ray.put(content)
        self._task = ray.remote(run_chunk).options(
            num_cpus=1, max_retries=0,
            runtime_env={"env_vars": {"BLOCKSCOPE_THREADS": "1"}},
        )  # fmt: skip
        self._seconds = 0.0  # that a point takes, in the mean
        self._processors = 1
        self._looked = 0.0

    def results(self) -> Iterator[Result]:
        try:
            while self._todo or self._again or self._running:
                self._fill()
                ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=1.0)
                for reference in ready:
                    yield from self._end(reference, self._running.pop(reference))
        finally:
            for reference in self._running:
                self._ray.cancel(reference, force=True)

    def _fill(self) -> None:
        """Give out chunks until each processor has one, and one that waits."""
        now = time.monotonic()
        if now - self._looked > 1.0:  # machines come and go
            self._looked = now
            self._processors = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        while len(self._running) < _CHUNKS_AHEAD * self._processors:
            if self._again:
                chunk = self._again.popleft()
            elif self._todo:
                chunk = _Chunk([self._todo.popleft() for _ in range(self._size())])
            else:
                return
            reference = self._task.remote(
                self._request, self._content, _core.__version__, chunk.indices
            )
            self._running[reference] = chunk

    def _size(self) -> int:
        """Points for about a second, fewer where few are left: all processors end together."""
        left = len(self._todo)
        if not self._seconds:
            return 1  # none has come back: how long they take is not known
        share = -(-left // (_CHUNKS_AHEAD * self._processors))
        return max(1, min(left, share, _MOST_OF_CHUNK, int(_SECONDS_OF_CHUNK / self._seconds)))

    def _end(self, reference: Any, chunk: _Chunk) -> Iterator[Result]:
        errors = self._ray.exceptions
        try:
            said = self._ray.get(reference)
        except (errors.NodeDiedError, errors.ObjectLostError):
            yield from self._lost(chunk, is_machine=True)
            return
        except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.TaskCancelledError):
            yield from self._lost(chunk, is_machine=False)
            return
        except errors.RayTaskError as error:
            raise RayError(f"a process of Ray's failed: {error}") from None
        if isinstance(said, str):
            raise RayError(f"a machine of the cluster cannot take part: {said}")
        found = [Result.of_json(each) for each in said]
        mean = sum(result.seconds for result in found) / len(found)
        self._seconds = mean if not self._seconds else 0.7 * self._seconds + 0.3 * mean
        self._seconds = max(self._seconds, 1e-4)
        yield from found

    def _lost(self, chunk: _Chunk, *, is_machine: bool) -> Iterator[Result]:
        """Run the points again, each by itself: one of them may have ended the process."""
        if len(chunk.indices) > 1:
            self._again.extend(_Chunk([index]) for index in chunk.indices)
            return
        chunk.losses += is_machine
        chunk.crashes += not is_machine
        if chunk.crashes < _MOST_CRASHES and chunk.losses < _MOST_LOSSES:
            self._again.append(chunk)
            return
        (index,) = chunk.indices
        yield Result(index, self._plan.point(index), "lost")
