"""One table names the sanitizers: what users see of them is what it says."""

import re
from pathlib import Path

import blockscope
import pytest
from blockscope import checks
from test_cli import command

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "docs" / "findings"


def row_of(sanitizer):
    """The row of docs/findings/README.md for a sanitizer."""
    parts = [f"`{sanitizer['name']}`"] if sanitizer["name"] else []
    parts += ["in every check"] if sanitizer["in_every_check"] else []
    codes = ", ".join(f"`{code}`" for code in sanitizer["codes"])
    return f"| {', '.join(parts)} | {sanitizer['help']} | {codes} |"


def test_the_table_has_every_sanitizer():
    # Whatever the linker may leave out of an archive, it does not leave out these.
    assert {"asan", "tsan"} <= set(checks.CHECKS)
    assert sum(row["in_every_check"] for row in checks.table()) >= 2


def test_every_code_belongs_to_one_sanitizer():
    from blockscope import _core

    codes = [code for row in checks.table() for code in row["codes"]]
    assert sorted(codes) == sorted(code for code, _, _ in _core.finding_codes())


def test_the_page_of_findings_has_the_table():
    text = (FINDINGS / "README.md").read_text()
    section = text.partition("## Checks")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert rows == [row_of(row) for row in checks.table()]


def test_the_page_of_findings_has_every_code():
    from blockscope import _core

    text = (FINDINGS / "README.md").read_text().partition("## Checks")[0]
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    assert rows == [
        f"| [{c}]({c}.md) | {level} | {said} |" for c, level, said in _core.finding_codes()
    ]


def test_the_page_of_findings_has_what_every_check_costs():
    text = (FINDINGS / "README.md").read_text()
    section = text.partition("## What a check costs")[2].partition("\n## ")[0]
    costs = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+)", section, re.M))
    assert sorted(costs) == list(checks.CHECKS)
    costs["all"] = re.search(r"All of them take ([\d.]+) times", section)[1]
    del costs["precision"]  # which benchmarks.md has in its text
    text = (FINDINGS.parent / "benchmarks.md").read_text()
    table = text.partition("launch and report included:\n\n")[2].partition("\n\n")[0].splitlines()
    names, means = ([cell.strip() for cell in table[row].split("|")] for row in (0, -1))
    measured = dict(zip(names, means, strict=True))
    assert costs == {name: measured[name] for name in costs}


def test_every_page_begins_with_its_code_severity_and_check():
    from blockscope import _core

    levels = {code: level for code, level, _ in _core.finding_codes()}
    for row in checks.table():
        named = f"{row['name']}." if row["name"] else ("every run.", "any check")
        for code in row["codes"]:
            title, head = (FINDINGS / f"{code}.md").read_text().split("\n\n")[:2]
            severity, _, check = head.partition("Check: ")
            assert title.startswith(f"# {code}: "), f"{code}.md begins with '{title}'"
            assert severity.startswith(f"Severity: {levels[code]}"), f"{code}.md says '{head}'"
            assert check.startswith(named), f"{code}.md says '{head}', expected 'Check: {named}'"


def test_unknown_names_and_choices_are_refused_everywhere():
    problem = f"unknown check 'nosan', expected {', '.join(checks.CHECKS)} or all"
    with (
        pytest.raises(ValueError, match=problem),
        blockscope.check("asan,nosan"),
    ):
        pass
    with (
        pytest.raises(ValueError, match="unknown option 'depth' of a check"),
        blockscope.check(depth="3"),
    ):
        pass
    done = command("check", "--checks", "nosan", "x.py")
    assert done.returncode == 2 and problem in done.stderr


@pytest.mark.parametrize("words", [("check",), ("trace",), ("san",)])
def test_help_lists_what_is_in_the_table(words):
    from blockscope.cli import arguments

    parser = (
        arguments.triton_san_parser()
        if words == ("san",)
        else arguments.command_parser(arguments.blockscope_parser(words[0]), words[0])
    )
    text = " ".join(parser.format_help().split())
    for row in checks.table():
        if row["name"]:
            assert row["name"] in text and row["help"] in text
        if words != ("trace",):
            for option in row["options"]:
                assert f"--{option['name'].replace('_', '-')}" in text and option["help"] in text
