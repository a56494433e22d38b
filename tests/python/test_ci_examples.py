"""examples/ci: the steps of the workflow and the hook, run on the project beside them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import sarif_schema
import yaml

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "examples" / "ci"
BIN = Path(sys.executable).parent


@pytest.fixture
def project(tmp_path):
    for file in ("scale.py", "test_scale.py", "pyproject.toml"):
        shutil.copy(CI / file, tmp_path)
    return tmp_path


def break_kernel(project):
    file = project / "scale.py"
    text = file.read_text()
    assert ", mask=mask)\n    tl.store" in text
    file.write_text(text.replace(", mask=mask)\n    tl.store", ")\n    tl.store"))


def environment(**more):
    """As of a shell in which nothing of Blockscope is active, and in which pytest cuts its lines,
    as it does not under CI."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("BLOCKSCOPE_", "GITHUB_", "PYTEST_"))
        and k not in ("CI", "BUILD_NUMBER")
    }
    return kept | more


def run_steps(project):
    """Exit status and output of each step of the workflow that is a command, by name. What is built
    is the build that runs this test."""
    (job,) = yaml.safe_load((CI / "workflow.yml").read_text())["jobs"].values()
    (project / "blockscope").symlink_to(ROOT)
    added = project / "github_path"
    added.touch()
    env = environment(GITHUB_PATH=str(added), GITHUB_WORKSPACE=str(project))
    env["PATH"] = os.pathsep.join(p for p in env["PATH"].split(os.pathsep) if p != str(BIN))
    done, has_failed = {}, False
    for step in job["steps"]:
        if "run" not in step or step["name"] in ("What actions need", "Build Blockscope"):
            continue
        if has_failed and step.get("if") != "always()":
            continue
        path = os.pathsep.join([*added.read_text().split(), env["PATH"]])
        ran = subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=project, env=env | {"PATH": path},
            capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        done[step["name"]] = (ran.returncode, ran.stdout + ran.stderr)
        has_failed |= ran.returncode != 0
    return done


def results(file):
    log = json.loads(file.read_text())
    jsonschema.validate(log, sarif_schema.LOG)
    (run,) = log["runs"]
    return [
        (each["ruleId"], each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for each in run["results"]
    ]


def test_the_steps_that_are_left_out_are_these():
    (job,) = yaml.safe_load((CI / "workflow.yml").read_text())["jobs"].values()
    steps = {step.get("name"): step for step in job["steps"]}
    assert steps["Build Blockscope"]["run"] == "blockscope/dev build"
    assert "apt-get install -y git" in steps["What actions need"]["run"]
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", each) for each in used) and len(used) == 5


def test_the_workflow_on_a_right_project(project):
    done = run_steps(project)
    assert [status for status, _ in done.values()] == [0, 0, 0], done
    assert "checked 3 launches of 3 tests: asan, tsan, undefined" in done["Tests"][1]
    assert results(project / "tests.sarif") == results(project / "script.sarif") == []
    assert list((project / "traces").iterdir()) == []


def test_the_workflow_on_a_wrong_project(project):
    break_kernel(project)
    done = run_steps(project)
    assert [status for status, _ in done.values()] == [0, 1, 66], done
    assert "::error file=scale.py,line=12,col=9,title=oob-load" in done["Tests"][1]
    assert ("oob-load", "scale.py") in results(project / "tests.sarif")
    assert ("oob-load", "scale.py") in results(project / "script.sarif")
    assert len(list((project / "traces").iterdir())) == 2  # n = 256 fits its block
    assert "error[oob-load]" in (project / "junit.xml").read_text()


@pytest.mark.skipif(not shutil.which("git"), reason="no git")
def test_the_hook(project):
    """A commit that breaks a kernel is refused, with the report."""
    env = environment(
        PATH=os.pathsep.join([str(BIN), os.environ["PATH"]]),
        PRE_COMMIT_HOME=str(project / ".home"),
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_SYSTEM=os.devnull,
    )
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "somebody", f"GIT_{who}_EMAIL": "somebody"}

    def run(*words):
        return subprocess.run(
            words, cwd=project, env=env, capture_output=True, text=True, timeout=240
        )

    shutil.copy(CI / "pre-commit-config.yaml", project / ".pre-commit-config.yaml")
    (project / ".gitignore").write_text(".home\n__pycache__\n.pytest_cache\n")
    for words in (["git", "init", "-q"], [BIN / "pre-commit", "install"], ["git", "add", "-A"]):
        assert run(*words).returncode == 0
    first = run("git", "commit", "-q", "-m", "right")
    assert first.returncode == 0, first.stderr
    break_kernel(project)
    second = run("git", "commit", "-q", "-a", "-m", "wrong")
    assert second.returncode == 1
    assert "scale.py:12:9: error[oob-load]" in second.stdout + second.stderr
    assert run("git", "log", "--format=%s").stdout == "right\n"


def test_the_page_shows_what_pytest_prints(project):
    """The report in docs/ci.md is that of the example without its mask."""
    break_kernel(project)
    page = (ROOT / "docs" / "ci.md").read_text()
    shown = re.search(r"```\n(\$ pytest [^\n]*)\n(.*?)```", page, re.S)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *shown[1].split()[2:]],
        cwd=project, env=environment(COLUMNS="100"), capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    said = re.sub(r"in \d+\.\d+s", "in 0.10s", done.stdout)
    assert shown[2].strip() in said, said
