"""The plugin of pytest: each test is a checked session, where it is asked for (docs/ci.md).

``pytest --blockscope=asan,tsan`` asks for it, or ``checks`` in the table ``[tool.blockscope]`` of
``pyproject.toml``. Pytest loads this module in every run of an environment, so what is here imports
next to nothing; ``checked_tests`` does the work.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import pytest

_NAME = "blockscope checked tests"
_MARKER = (
    "blockscope(checks=..., allow=...): with --blockscope, other checks for this test, and codes "
    "of findings that it may have"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("blockscope")
    group.addoption(
        "--blockscope",
        metavar="CHECKS",
        nargs="?",  # without a value: what it may be is said
        const="",
        help="check the Triton kernels that each test launches: asan,tsan for example, or all; "
        "off: although pyproject.toml asks for it",
    )
    group.addoption(
        "--blockscope-baseline",
        metavar="FILE",
        help="with --blockscope: findings that FILE has fail no test; off: without the one of "
        "pyproject.toml",
    )
    group.addoption(
        "--blockscope-write-baseline",
        metavar="FILE",
        help="with --blockscope: write what all tests have found to FILE, or bring it up to date",
    )
    group.addoption(
        "--blockscope-trace",
        metavar="DIR",
        help="with --blockscope: keep a trace of each failing test in DIR, for 'blockscope view'",
    )
    group.addoption(
        "--blockscope-sarif",
        metavar="FILE",
        help="with --blockscope: write what all tests have found to FILE, as SARIF 2.1.0",
    )
    group.addoption(
        "--blockscope-html",
        metavar="FILE",
        help="with --blockscope: write what all tests have found to FILE, as a page to read",
    )
    group.addoption(
        "--blockscope-github",
        action="store_true",
        help="with --blockscope: print what fails tests as annotations of a GitHub workflow",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Conftests may import triton, and shall get Blockscope."""
    with suppress(pytest.UsageError):  # pytest_configure raises it again, where pytest prints it
        if _asked(early_config, early_config.known_args_namespace) is not None:
            _become_triton()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    asked = _asked(config, config.option)
    if asked is None:
        for name in ("trace", "sarif", "html", "github", "baseline", "write-baseline"):
            if config.getoption(f"blockscope_{name.replace('-', '_')}"):
                raise pytest.UsageError(
                    f"--blockscope-{name} is about checked tests, and no test is checked; expected "
                    "--blockscope=CHECKS too"
                )
        return
    _become_triton()
    from blockscope.pytest_plugin.checked_tests import CheckedTests

    names, options = asked
    options = {**options, "baseline": _baseline(config, options.get("baseline"))}
    config.pluginmanager.register(CheckedTests(config, names, options), _NAME)


def _asked(config: pytest.Config, given: Any) -> tuple[list[str], dict[str, Any]] | None:
    """The checks, and options of ``checks.check``; None where nobody asks for checks.

    Errors: UsageError for what cannot be checked.
    """
    text = getattr(given, "blockscope", None)
    if text == "off":
        return None
    try:
        from blockscope import project

        found = project.of_folder(config.rootpath)
        if text is None:
            return None if found.checks is None else (list(found.checks), found.options)
        from blockscope.checks import parse_checks

        try:
            return parse_checks(text), found.options
        except ValueError as error:
            raise ValueError(f"{_named(text)}: {error}, or off{_example(text)}") from None
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    except ImportError as error:  # no compiled part, or an old one
        raise pytest.UsageError(f"blockscope cannot check: {error}") from None


def _named(text: str) -> str:
    return f"--blockscope={text}" if text else "--blockscope"


def _example(text: str) -> str:
    """For who wrote no checks: the word behind ``--blockscope`` is taken for them."""
    if not text:
        return ", as in --blockscope=asan,tsan"
    if os.path.exists(text.partition("::")[0]):
        return f", as in --blockscope=asan,tsan {text}"
    return ""


def _baseline(config: pytest.Config, of_project: str | None) -> Any:
    """The one that was named, else the project's; one to write into where that is asked. Files are
    named from the folder where pytest was called."""
    from blockscope import baseline

    named = config.getoption("blockscope_baseline")
    written = config.getoption("blockscope_write_baseline")
    if named is not None and written is not None:
        raise pytest.UsageError(
            "--blockscope-baseline and --blockscope-write-baseline were named, expected one of them"
        )
    if written is not None:
        from blockscope.pytest_plugin.summary import check_writable

        check_writable("write-baseline", str(config.invocation_params.dir / written))
    path = of_project if named is None else named
    try:
        if written is not None:
            return baseline.read(config.invocation_params.dir / written, accepts_all=True)
        if path in (None, "off"):
            return None
        return baseline.read(config.invocation_params.dir / path)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def _become_triton() -> None:
    from blockscope.drop_in import install_as_triton

    try:
        install_as_triton()
    except RuntimeError as error:
        raise pytest.UsageError(f"blockscope cannot check: {error}") from None


@pytest.fixture
def blockscope_report(request: pytest.FixtureRequest) -> Any:
    """What the checks of this test have found so far: ``findings``, ``text()``, ``launches``."""
    plugin = request.config.pluginmanager.get_plugin(_NAME)
    report = plugin.report_of(request.node) if plugin is not None else None
    if report is None:
        pytest.skip("the kernels of this test are not checked: run pytest with --blockscope=CHECKS")
    return report
