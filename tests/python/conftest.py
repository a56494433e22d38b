"""What every test here leaves as it found it."""

from collections.abc import Iterator

import pytest
from blockscope import knobs
from fake_gpu import libcuda, run  # noqa: F401


@pytest.fixture(autouse=True)
def settings_of_the_runtime() -> Iterator[None]:
    """The next test sees the environment, not what this one set in Python."""
    with knobs.runtime.scope():
        yield
