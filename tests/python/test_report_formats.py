"""Findings for code hosts: SARIF and annotations of GitHub."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import sarif_schema
from blockscope import checks
from blockscope.cli.explain import text_of

PAIRS = Path(__file__).resolve().parents[1] / "kernels"
BIN = Path(sys.executable).parent

KERNEL = """
import numpy, triton, triton.language as tl

@triton.jit
def add(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets{mask})
    tl.store(out_ptr + offsets, x + 1, mask=offsets < n)

x = numpy.zeros(1000, numpy.float32)
add[(4,)](x, numpy.empty_like(x), 1000, BLOCK=256)
print("the script ran")
"""
BAD = KERNEL.format(mask="")
GOOD = KERNEL.format(mask=", mask=offsets < n")


def command(*words, cwd=None, program="blockscope", **env):
    variables = {
        k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "BLOCKSCOPE_"))
    }
    return subprocess.run(
        [BIN / program, *map(str, words)], capture_output=True, text=True, cwd=cwd,
        env=variables | env, timeout=240,
    )  # fmt: skip


def log_of(text):
    """The one run of a SARIF log that keeps to the schema."""
    log = json.loads(text)
    validator = jsonschema.Draft202012Validator(sarif_schema.LOG)
    assert [f"{each.json_path}: {each.message}" for each in validator.iter_errors(log)] == []
    (run,) = log["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        ids = [each["id"] for each in result.get("relatedLocations", ())]
        assert len(ids) == len(set(ids))
    return run


def run_of_pair(name, checks):
    """The SARIF run of a kernel of tests/kernels."""
    done = command("check", "--checks", checks, "--format", "sarif", f"{name}_bad.py", cwd=PAIRS)
    assert done.returncode in (0, 66), done.stderr
    return log_of(done.stdout)


def lines(locations):
    return [each["physicalLocation"]["region"]["startLine"] for each in locations]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    return tmp_path


# --- SARIF ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program, words",
    [("blockscope", ["check", "--checks", "asan"]), ("triton-san", ["asan", "python"])],
)
def test_sarif_of_a_finding(folder, program, words):
    words = (
        ["--format", "sarif", *words] if program == "triton-san" else [*words, "--format", "sarif"]
    )
    done = command(*words, "bad.py", cwd=folder, program=program)
    assert done.returncode == 66 and done.stderr == "the script ran\n"
    run = log_of(done.stdout)
    (result,) = run["results"]
    assert result["ruleId"] == "oob-load" and result["level"] == "error"
    assert result["message"]["text"] == (
        "load of 4 bytes at byte 4000 of 'x_ptr', which has 4000 bytes; kernel 'add', load by "
        "program (3, 0, 0), lane 232, grid (4, 1, 1); launched with BLOCK = 256, n = 1000; hint: "
        "is a mask missing?"
    )
    assert "  hint: is a mask missing?\n```" in result["message"]["markdown"]
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "bad.py", "uriBaseId": "SRCROOT"},
        "region": {
            "startLine": 7,
            "startColumn": 9,
            "snippet": {"text": "    x = tl.load(x_ptr + offsets)"},
        },
    }
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == folder.as_uri() + "/"
    assert location["logicalLocations"] == [{"name": "add", "kind": "function"}]
    assert result["occurrenceCount"] == 24
    assert result["properties"]["finding"]["program"] == [3, 0, 0]
    assert run["invocations"] == [
        {"executionSuccessful": True, "exitCode": 0, "toolExecutionNotifications": []}
    ]


def test_rules_have_the_pages(folder):
    (rule,) = log_of(command("check", "--format", "sarif", "bad.py", cwd=folder).stdout)["tool"][
        "driver"
    ]["rules"]
    assert (rule["id"], rule["name"]) == ("oob-load", "OobLoad")
    assert rule["shortDescription"]["text"] == "a load reads bytes outside its tensor's storage"
    assert rule["fullDescription"]["text"].startswith(
        "An active lane of a `tl.load` reads at least"
    )
    assert rule["help"]["markdown"] in text_of("oob-load")
    assert "## What to do" in rule["help"]["markdown"]
    assert rule["properties"]["tags"] == ["triton", "asan"]


def test_both_sides_of_a_race_are_a_flow():
    run = run_of_pair("shared_counter", "tsan")
    write, read = run["results"]
    assert (write["ruleId"], read["ruleId"]) == ("race-write-write", "race-read-write")
    (flow,) = read["codeFlows"]
    one, other = flow["threadFlows"]
    assert (one["id"], other["id"]) == ("load by program (1, 0, 0)", "store by program (0, 0, 0)")
    columns = [
        each["locations"][0]["location"]["physicalLocation"]["region"]["startColumn"]
        for each in (one, other)
    ]
    assert columns == [27, 5]
    (related,) = read["relatedLocations"]
    assert related["message"]["text"] == "other side: store by program (0, 0, 0)"


def test_the_way_of_a_value_is_a_flow_in_its_order():
    """Undefined lanes are loaded, summed, and stored: the order of the lines."""
    (result,) = run_of_pair("masked_load_sum", "undefined")["results"]
    (flow,) = result["codeFlows"]
    (thread,) = flow["threadFlows"]
    steps = thread["locations"]
    assert lines(step["location"] for step in steps) == [13, 14, 15]
    assert [step["executionOrder"] for step in steps] == [1, 2, 3]
    texts = [step["location"]["message"]["text"] for step in steps]
    assert (
        texts[:2] == ["born", "goes through"]
        and texts[2] == result["properties"]["finding"]["message"]
    )
    assert sorted(lines(result["relatedLocations"])) == [13, 14]


def test_a_value_is_followed_from_its_birth_to_where_it_arrives():
    (result,) = run_of_pair("nan_assert", "nan")["results"]
    (thread,) = result["codeFlows"][0]["threadFlows"]
    assert lines(step["location"] for step in thread["locations"]) == [13, 14]
    assert [step["importance"] for step in thread["locations"]] == ["essential", "important"]


def test_calls_are_a_stack(tmp_path):
    (tmp_path / "calls.py").write_text(
        """
import numpy, triton, triton.language as tl

@triton.jit
def get(ptr):
    return tl.load(ptr + 8)

@triton.jit
def kernel(x_ptr, out_ptr):
    y = get(x_ptr)
    tl.store(out_ptr, y)

kernel[(2,)](numpy.zeros(8, numpy.float32), numpy.zeros(8, numpy.float32))
"""
    )
    run = log_of(command("check", "--format", "sarif", "calls.py", cwd=tmp_path).stdout)
    by_rule = {each["ruleId"]: each for each in run["results"]}
    (stack,) = by_rule["oob-load"]["stacks"]
    assert lines(frame["location"] for frame in stack["frames"]) == [6, 10]
    names = [frame["location"]["logicalLocations"][0]["name"] for frame in stack["frames"]]
    assert names == ["get", "kernel"]


def test_every_kind_of_place_keeps_to_the_schema():
    """Kernels whose findings have all kinds of places that there are."""
    seen = set()
    for name, finder in EVERY_PLACE.items():
        for result in run_of_pair(name, finder)["results"]:
            seen |= result["properties"]["finding"].keys()
    places = {"other", "allocated_at", "born_at", "through", "read_at", "arrives_at", "used_at",
              "shares"}  # fmt: skip
    assert places <= seen, places - seen


EVERY_PLACE = {
    "shared_counter": "tsan",
    "masked_load_sum": "undefined",
    "padding_read_by_host": "undefined",
    "empty_counts": "undefined",
    "nan_assert": "nan",
    "division_by_zero": "arith",
    "precision_fp16_sum": "precision",
}


def test_names_and_columns_that_are_not_ascii(tmp_path):
    """Paths are URIs, and columns count characters, not bytes."""
    folder = tmp_path / "größe 50%"
    folder.mkdir()
    text = BAD.replace("    x = tl.load(", "    ä = 'ö'; x = tl.load(")
    (folder / "kérnel #1.py").write_text(text, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    done = command("check", "--format", "sarif", "kérnel #1.py", cwd=folder)
    (result,) = log_of(done.stdout)["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "gr%C3%B6%C3%9Fe%2050%25/k%C3%A9rnel%20%231.py"
    assert place["region"]["startColumn"] == 18
    assert place["region"]["snippet"]["text"][18 - 1 :].startswith("tl.load(")
    done = command("check", "--format", "github", "kérnel #1.py", cwd=folder)
    assert done.stdout.startswith("::error file=größe 50%25/kérnel #1.py,line=7,col=18,title=")


def test_code_in_no_file_has_no_physical_location(tmp_path):
    done = command("check", "--format", "sarif", "-c", BAD, cwd=tmp_path)
    run = log_of(done.stdout)
    if run["results"]:
        assert "physicalLocation" not in run["results"][0]["locations"][0]
    else:  # a kernel needs its source
        assert run["invocations"][0]["executionSuccessful"] is False


def test_fingerprints_stay_when_lines_move(folder):
    def fingerprint():
        done = command("check", "--format", "sarif", "bad.py", cwd=folder)
        return log_of(done.stdout)["results"][0]["partialFingerprints"]

    before = fingerprint()
    (folder / "bad.py").write_text("# a line\n" + BAD)
    assert fingerprint() == before
    (folder / "bad.py").write_text(BAD.replace("def add(", "def plus(").replace("add[", "plus["))
    assert fingerprint() != before


def test_the_root_is_that_of_the_repository(folder):
    deep = folder / "one" / "two"
    deep.mkdir(parents=True)
    (deep / "bad.py").write_text(BAD)

    def uri(cwd, script, **env):
        done = command("check", "--format", "sarif", script, cwd=cwd, **env)
        place = log_of(done.stdout)["results"][0]["locations"][0]["physicalLocation"]
        return place["artifactLocation"]["uri"]

    assert uri(deep, "bad.py") == "bad.py"
    assert uri(deep, "bad.py", GITHUB_WORKSPACE=str(folder)) == "one/two/bad.py"
    assert uri(deep, "bad.py", GITHUB_WORKSPACE="/proc") == "bad.py"  # the script is elsewhere
    (folder / ".git").mkdir()
    assert uri(deep, "bad.py") == "one/two/bad.py"
    assert uri(deep, folder / "bad.py") == "bad.py"
    (folder / "other").mkdir()
    (folder / "other" / ".git").mkdir()
    assert uri(folder / "other", folder / "bad.py") == (folder / "bad.py").as_uri()


def test_what_was_not_checked_is_said(tmp_path):
    def notes(text, *words):
        (tmp_path / "script.py").write_text(text)
        run = log_of(
            command("check", "--format", "sarif", *words, "script.py", cwd=tmp_path).stdout
        )
        (invocation,) = run["invocations"]
        found = [each["message"]["text"] for each in invocation["toolExecutionNotifications"]]
        return invocation["executionSuccessful"], found

    assert notes(GOOD) == (True, [])
    assert notes("pass") == (True, ["no kernel was launched: nothing was checked"])
    ended = "the script ended with status 3: what it did not reach is unchecked"
    assert notes(GOOD + "raise SystemExit(3)\n") == (False, [ended])
    two = BAD + "add[(4,)](numpy.empty_like(x)[:10], x, 1000, BLOCK=256)\n"
    two = two.replace("x_ptr + offsets)\n", "x_ptr + offsets)\n    tl.load(out_ptr + offsets)\n", 1)
    dropped = ["further causes that are not shown: 2 (--max-findings)"]
    assert notes(two, "--max-findings", "1") == (True, dropped)


def test_findings_of_child_processes_are_results(folder):
    (folder / "parent.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'bad.py'])\n"
    )
    done = command("check", "--format", "sarif", "parent.py", cwd=folder)
    assert done.returncode == 66
    (result,) = log_of(done.stdout)["results"]
    assert result["ruleId"] == "oob-load"


def test_sarif_into_a_file(folder):
    done = command("check", "--format", "sarif", "--output", "out.sarif", "good.py", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "the script ran\n",
        "wrote out.sarif: no findings\n",
    )
    run = log_of((folder / "out.sarif").read_text())
    assert run["results"] == [] and run["tool"]["driver"]["rules"] == []


def test_the_test_schema_can_fail(folder):
    log = json.loads(command("check", "--format", "sarif", "bad.py", cwd=folder).stdout)
    validator = jsonschema.Draft202012Validator(sarif_schema.LOG)
    assert list(validator.iter_errors(log)) == []
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    for broken in ({"startLine": 0}, {"startLine": "7"}, {"colour": 1}):
        before = dict(region)
        region.update(broken)
        assert len(list(validator.iter_errors(log))) == 1
        region.clear()
        region.update(before)


# --- annotations of GitHub ------------------------------------------------------------------------


def parsed(line):
    """Level, properties and text of a workflow command, unescaped as the runner does it."""
    level, properties, data = re.fullmatch(r"::(\w+) ([^\r\n]*?)::([^\r\n]*)", line).groups()

    def plain(text, codes):
        for code, char in codes:
            text = text.replace(code, char)
        return text

    of_data = [("%0D", "\r"), ("%0A", "\n"), ("%25", "%")]
    of_properties = [("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")]
    pairs = [each.split("=", 1) for each in properties.split(",")]
    return level, {name: plain(value, of_properties) for name, value in pairs}, plain(data, of_data)


def test_annotations(folder):
    done = command("check", "--format", "github", "bad.py", cwd=folder)
    assert done.returncode == 66 and done.stderr == "the script ran\n"
    (line,) = done.stdout.splitlines()
    level, properties, text = parsed(line)
    assert level == "error"
    assert properties == {
        "file": "bad.py",
        "line": "7",
        "col": "9",
        "title": "oob-load: load of 4 bytes at byte 4000 of 'x_ptr', which has 4000 bytes",
    }
    plain = command("check", "bad.py", cwd=folder)
    assert plain.stderr.startswith(text) and "\n  hint: is a mask missing?" in text


def test_annotations_have_levels(tmp_path):
    (tmp_path / "flag.py").write_text(
        """
import numpy, triton, triton.language as tl

@triton.jit
def flag(ptr):
    tl.store(ptr, 1)

flag[(4,)](numpy.zeros(1, numpy.int32))
"""
    )
    done = command("check", "--format", "github", "flag.py", cwd=tmp_path)
    assert done.returncode == 0 and parsed(done.stdout.strip())[0] == "warning"


def test_nothing_to_annotate(folder):
    done = command("check", "--format", "github", "good.py", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "the script ran\n")
    (folder / "empty.py").write_text("")
    done = command("check", "--format", "github", "empty.py", cwd=folder)
    assert done.stdout == (
        "::warning title=blockscope::no kernel was launched: nothing was checked\n"
    )


@pytest.mark.parametrize("text", ["100%", "a::b,c=d", "one\r\ntwo", "%0A", "::error::x"])
def test_escapes(text, monkeypatch, tmp_path):
    from blockscope.cli import github_annotations
    from blockscope.cli.sources import Sources

    monkeypatch.chdir(tmp_path)
    data = {"file": f"{text}.py", "line": 3, "column": 1, "severity": "note", "code": "oob-load",
            "message": text}  # fmt: skip
    found = [checks.Finding(data, text)]
    (line,) = github_annotations.commands(found, Sources(), []).split("\n")[:-1]
    level, properties, said = parsed(line)
    assert level == "notice" and said == text
    assert properties["title"] == f"oob-load: {text}"
    assert properties["file"] == f"{text}.py"


def test_an_unknown_format_is_refused(folder):
    done = command("check", "--format", "xml", "bad.py", cwd=folder)
    assert done.returncode == 2 and "invalid choice: 'xml'" in done.stderr
