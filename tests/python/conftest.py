"""What every test here leaves as it found it."""

from collections.abc import Iterator
from typing import Any

import blockscope
import machine_backend
import machine_cases
import pytest
from blockscope import knobs
from fake_gpu import libcuda, run  # noqa: F401


@pytest.fixture(autouse=True)
def settings_of_the_runtime() -> Iterator[None]:
    """The next test sees the environment, not what this one set in Python."""
    with knobs.runtime.scope():
        yield
    machine_backend.release_launchers()


@pytest.fixture(params=["whole", "step"])
def mode(request: pytest.FixtureRequest) -> str:
    """Kernels run in both modes of the CPU, one after the other."""
    blockscope.set_interpret_mode(request.param == "step")
    return request.param


@pytest.fixture
def kernels(arch: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Launches on CPU tensors go to the machine for PTX, its warps in some order; the kernels that
    ran, in order. ``arch`` is a parameter of the test."""
    import torch

    torch.manual_seed(7)
    return machine_backend.record(monkeypatch, arch, seed=3)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    if any("test_gpu_machine.py" in report.nodeid for report in reports):
        terminalreporter.write_line(machine_cases.described())
