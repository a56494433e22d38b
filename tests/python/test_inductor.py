"""torch.compile with ``cpu_backend = "triton"``: kernels of Inductor, run, checked and stepped."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("torch", minversion="2.13")

HEAD = """
import torch, torch._inductor.async_compile, torch._inductor.config
import torch.nn.functional as F
from torch.testing import assert_close
torch._inductor.config.cpu_backend = "triton"
torch.manual_seed(0)
def compare(f, *inputs):
    assert_close(torch.compile(f, fullgraph=True)(*inputs), f(*inputs), rtol=2e-5, atol=2e-5)
"""


def blockscope(tmp_path, code, *command):
    path = tmp_path / "script.py"
    path.write_text(HEAD + textwrap.dedent(code))
    env = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
        "TORCHINDUCTOR_COMPILE_THREADS": "2",
    }
    env.pop("BLOCKSCOPE_AS_TRITON", None)
    return subprocess.run(
        [sys.executable, "-m", "blockscope", *command, path],
        capture_output=True, text=True, env=env, timeout=240,
    )  # fmt: skip


def kernel_files(tmp_path):
    files = (tmp_path / "cache").rglob("*.py")
    return [f for f in files if "@triton.jit" in f.read_text()]


RIGHT = """
x, y = torch.randn(33, 65), torch.randn(33, 65)
torch._inductor.async_compile.AsyncCompile.wait_pool_ready()  # worker processes stand by
# The first sine of floats that torch itself computes is off by 1e-4 in one process of twenty, on a
# busy machine.
found = torch.compile(lambda x, y: x * 2 + y.sin(), fullgraph=True)(x, y)
assert_close(found.double(), x.double() * 2 + y.double().sin(), rtol=1e-6, atol=1e-6)
compare(lambda x: (x.sum(0), torch.var_mean(x, -1), x.argmax(-1), x.softmax(-1)), x)
compare(lambda x: (x.cumsum(-1), (x > 0).any(-1), torch.cat([x, x + 1])), x)
compare(lambda x, i: x.index_add(0, i, x), x, torch.randint(0, 33, (33,)))
compare(lambda x: x.to(torch.bfloat16) * 2, x)
weight = torch.randn(65, requires_grad=True)
torch.compile(lambda w: F.layer_norm(x, (65,), w).square().mean())(weight).backward()
found, weight.grad = weight.grad, None
F.layer_norm(x, (65,), weight).square().mean().backward()
assert_close(found, weight.grad)
print("right")
"""


@pytest.mark.parametrize("command", [("run",), ("check", "--checks", "asan,tsan,init")])
def test_generated_kernels_are_right_and_clean(tmp_path, command):
    done = blockscope(tmp_path, RIGHT, *command)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert len(kernel_files(tmp_path)) >= 6
    if command[0] == "check":
        assert "no findings" in done.stderr


STEPPED = """
import sys
x, y = torch.randn(100), torch.randn(100)
compare(lambda x: x.sum(), x)
f = torch.compile(lambda x, y: x * 2 + y.sin())
f(x, y)
called = []
sys.setprofile(lambda frame, event, arg: called.append(frame.f_code.co_name))
z = f(x, y)
sys.setprofile(None)
assert_close(z, x * 2 + y.sin())
assert any(name.startswith("triton_poi_") for name in called), "not a Python function"
print("right")
"""


def test_generated_kernels_run_step_by_step(tmp_path):
    done = blockscope(tmp_path, STEPPED, "run", "--step")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert kernel_files(tmp_path)


def test_a_finding_names_the_line_of_the_generated_file(tmp_path):
    """Inputs whose views end outside their storage: Inductor believes sizes and strides."""
    code = """
    x, y = torch.randn(100), torch.randn(100)
    f = torch.compile(lambda x, y: x * 2 + y.sin())
    f(x, y)
    y.untyped_storage().resize_(320)
    f(x, y)
    """
    done = blockscope(tmp_path, code, "check", "--checks", "asan")
    assert done.returncode == 66, done.stderr
    found = re.search(r"^(\S+):(\d+):\d+: error\[oob-load\]: .*'in_ptr1'", done.stderr, re.M)
    assert found, done.stderr
    (file,) = (f for f in kernel_files(tmp_path) if os.path.samefile(found[1], f))
    assert "tl.load(in_ptr1" in file.read_text().splitlines()[int(found[2]) - 1]


OWN_KERNELS = """
import triton, triton.language as tl

def body(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)

double = triton.jit(body)
tuned = triton.autotune([triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])(double)

def launch(x):
    y = torch.empty_like(x)
    double[(triton.cdiv(100, 64),)](x + 1, y, 100, B=64)
    return y.sin()

def launch_tuned(x):
    y = torch.empty_like(x)
    tuned[lambda meta: (triton.cdiv(100, meta["B"]),)](x, y, 100)
    return y + 1

@torch.library.triton_op("blockscope_test::double", mutates_args=())
def operator(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    torch.library.wrap_triton(double)[(2,)](x, y, 100, B=64)
    return y

x = torch.randn(100)
assert_close(torch.compile(launch, fullgraph=True)(x), ((x + 1) * 2).sin())
assert_close(torch.compile(launch_tuned, fullgraph=True)(x), x * 2 + 1)
assert_close(torch.compile(lambda x: operator(x) + 1, fullgraph=True)(x), x * 2 + 1)
print("right")
"""


def test_kernels_of_users_inside_compiled_functions(tmp_path):
    done = blockscope(tmp_path, OWN_KERNELS, "run")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
