"""``blockscope sweep --ray``: points on a cluster of several nodes, of which some end."""

import json
import subprocess
import sys
import time

import pytest

pytest.importorskip("ray")
pytest.importorskip("torch")

SCRIPT = """
import os, time
import torch, triton, triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i)
    tl.store(out + i, a + b, mask=i < n)

def run(n, BLOCK):
    x, y, out = torch.rand(n), torch.rand(n), torch.zeros(n)
    add[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK)

def slow(n):
    run(n, 32)
    time.sleep(0.1)

def ends(n):
    if n == 7:
        os._exit(3)
    run(n, 32)

if __name__ == "__main__":
    run(1024, 64)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("ray")
    (path / "script.py").write_text(SCRIPT)
    done = blockscope(path, "record", "script.py")
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def cluster(monkeypatch):
    """A head without processors, and two nodes with one each."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_health_check_initial_delay_ms", "500")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.nodes = [made.add_node(num_cpus=1) for _ in range(2)]
    made.wait_for_nodes()
    yield made
    made.shutdown()


def words_of(*words):
    return [sys.executable, "-m", "blockscope", *map(str, words)]


def blockscope(folder, *words):
    return subprocess.run(
        words_of(*words), capture_output=True, text=True, cwd=folder, timeout=250
    )  # fmt: skip


def states(path):
    """What the file of results has, without times."""
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    rows = [row for row in rows if "sources" not in row]
    keys = [json.dumps(row["point"]) for row in rows]
    assert len(set(keys)) == len(keys), "a point has two results"
    found = dict(zip(keys, rows, strict=True))
    for row in rows:
        row.pop("seconds")
    return found


def test_a_cluster_gives_the_results_of_one_machine(folder, cluster):
    words = ["sweep", "run.blk", "--vary", "n=1..200,BLOCK=32,64"]
    done = blockscope(folder, *words, "-o", "there", "--ray", cluster.address)
    assert done.returncode == 66, done.stderr
    assert blockscope(folder, *words, "-o", "here").returncode == 66
    assert len(states(folder / "there")) == 400
    assert states(folder / "there") == states(folder / "here")


def test_a_node_that_ends_loses_nothing(folder, cluster):
    path = folder / "slow"
    running = subprocess.Popen(
        words_of("sweep", "script.py:slow", "--vary", "n=1..120", "-o", path, "--ray",
                 cluster.address),
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 120
    while not path.exists() or len(path.read_text().splitlines()) < 8:
        assert time.monotonic() < end and running.poll() is None, running.communicate()
        time.sleep(0.1)
    before = len(path.read_text().splitlines())
    cluster.remove_node(cluster.nodes[0], allow_graceful=False)
    out, err = running.communicate(timeout=200)
    assert running.returncode == 66, err
    assert before < 100  # it had much to do when the node ended
    found = states(path)
    assert len(found) == 120 and {row["state"] for row in found.values()} == {"passed", "found"}
    assert "120 points (n): 3 passed, 117 with findings" in out


def test_a_point_that_ends_its_process_is_named(folder):
    done = blockscope(
        folder, "sweep", "script.py:ends", "--vary", "n=1..12", "-o", "ends", "--ray", "local"
    )
    assert done.returncode == 66, done.stderr
    assert "12 points (n): 11 with findings, 1 ended their process" in done.stdout
    assert "lost: its process ended\n   1 point, where n = 7" in done.stdout


def test_no_ray_there(folder):
    done = blockscope(folder, "sweep", "run.blk", "-o", "none", "--ray", "127.0.0.1:9")
    assert done.returncode == 2
    assert "there is no Ray at '127.0.0.1:9' (Connection refused), expected local" in done.stderr
