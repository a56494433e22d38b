"""How a sweep on Ray grows with processors: points a second on clusters of this machine.

    .venv/bin/python benchmarks/sweep_scaling.py [--points 600] [--processors 1,2]

Each processor is a node of a cluster of its own. Points are launches of a matrix product under asan
and tsan, of about 20 ms. Counted is from the first result on: processes start before that, once.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import tempfile
import time

from blockscope.drop_in import install_as_triton

SCRIPT = """
import torch, triton, triton.language as tl

@triton.jit
def matmul(a, b, c, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for first in range(0, K, BLOCK):
        k = first + tl.arange(0, BLOCK)
        total += tl.dot(tl.load(a + m[:, None] * K + k), tl.load(b + k[:, None] * K + n))
    tl.store(c + m[:, None] * K + n, total)

def run(seed, K):
    a, b, c = torch.ones(K, K), torch.ones(K, K), torch.zeros(K, K)
    matmul[(K // 32, K // 32)](a, b, c, K, BLOCK=32)
"""


def measured(folder: str, processors: int, points: int, size: int) -> tuple[float, float]:
    """Points a second, and the mean seconds of a point."""
    from blockscope.sweep.on_ray import results_on_ray
    from blockscope.sweep.plan import Request
    from ray.cluster_utils import Cluster

    request = Request(
        os.path.join(folder, "script.py"), "run", checks=["asan", "tsan"],
        vary=[f"seed=1..{points},K={size}"],
    )  # fmt: skip
    plan = request.plan()
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    for _ in range(processors):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    times, seconds = [], []
    try:
        for result in results_on_ray(plan, range(points), cluster.address):
            times.append(time.monotonic())
            seconds.append(result.seconds)
    finally:
        cluster.shutdown()
    # Each process has begun by the time that a tenth is there.
    first = points // 10
    return (points - first) / (times[-1] - times[first - 1]), statistics.mean(seconds[first:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--points", type=int, default=600)
    parser.add_argument("--size", type=int, default=512, help="of the matrices")
    parser.add_argument("--processors", default="1,2")
    options = parser.parse_args()
    os.environ["BLOCKSCOPE_THREADS"] = "1"
    install_as_triton()
    counts = [int(text) for text in options.processors.split(",")]
    print("| processors | points a second | a point | of linear |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "script.py").write_text(SCRIPT)
        alone = 0.0
        for count in counts:
            rate, seconds = measured(folder, count, options.points, options.size)
            alone = alone or rate / counts[0]
            share = rate / (alone * count)
            print(f"| {count} | {rate:.1f} | {seconds * 1e3:.1f} ms | {share:.0%} |", flush=True)


if __name__ == "__main__":
    main()
