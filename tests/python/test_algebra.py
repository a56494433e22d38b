"""Floats as integers: the rules, in both modes and compiled, and what can be decided with them."""

import linecache
import re
import textwrap

import blockscope
import blockscope.language as tl
import gpu_rows
import ml_dtypes
import numpy as np
import ptx_machine
import pytest
import torch
from blockscope import formulas
from blockscope.language.extra import libdevice
from test_cli import command

# The rules, written once more: integers of Python modulo 2^bits

ONES = {
    np.float16: (16, 0x3C00),
    ml_dtypes.bfloat16: (16, 0x3F80),
    np.float32: (32, 0x3F800000),
    np.float64: (64, 0x3FF0000000000000),
    ml_dtypes.float8_e4m3fn: (8, 0x38),
    ml_dtypes.float8_e5m2: (8, 0x3C),
}


class Ring:
    """The payloads of one float type."""

    def __init__(self, dtype):
        self.dtype = np.dtype(dtype)
        self.bits, one = ONES[dtype]
        self.all, self.low = (1 << self.bits) - 1, (1 << self.bits - 1) - 1
        self.shift = (one & -one).bit_length() - 1
        self.first = 14940041 & self.low
        mixed = one * self.first & self.low
        self.second = pow(mixed ^ mixed >> self.shift, -1, 1 << self.bits - 1)

    def embed(self, x):
        """Payloads of an array: positive ones, and opposites of those where the sign is set."""
        found = []
        for pattern in x.view(f"u{self.dtype.itemsize}").astype(object):
            mixed = (pattern & self.low) * self.first & self.low
            payload = (mixed ^ mixed >> self.shift) * self.second & self.low
            is_negative = pattern >> self.bits - 1
            found.append((-payload & self.low) | 1 << self.bits - 1 if is_negative else payload)
        return np.array(found, object)

    def signed(self, payloads):
        return np.array(
            [p - (1 << self.bits) if p >> self.bits - 1 else p for p in payloads], object
        )

    def inverse(self, payloads):
        odd = [pow(int(p) | 1, -1, 1 << self.bits) for p in payloads]
        return np.array([(q & ~1) | (p & 1) for p, q in zip(payloads, odd)], object)

    def power(self, payloads):
        base = 1 + (1 << (self.bits + 3) // 4)
        return np.array([pow(base, int(p), 1 << self.bits) for p in payloads], object)

    def angle(self, payloads):
        """Cosine and sine: powers of -3/5 + 4/5 i."""
        modulus = 1 << self.bits
        fifth = pow(5, -1, modulus)
        found = []
        for exponent in payloads:
            c, s, a, b = 1, 0, -3 * fifth % modulus, 4 * fifth % modulus
            exponent = int(exponent)
            while exponent:
                if exponent & 1:
                    c, s = (c * a - s * b) % modulus, (c * b + s * a) % modulus
                a, b = (a * a - b * b) % modulus, 2 * a * b % modulus
                exponent >>= 1
            found.append((c, s))
        return np.array(found, object).T

    def tag(self, payloads, number):
        h = number
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            h = (h ^ h >> 33) * factor % 2**64
        h ^= h >> 33
        return ((payloads * 314159 ^ h) * 314159) & self.all

    def call(self, symbol, *operands):
        h = 14695981039346656037
        for byte in symbol.encode():
            h = (h ^ byte) * 1099511628211 % 2**64
        total = 0
        for i, p in enumerate(operands):
            total = total + ((p << i | p >> self.bits - i) & self.all)
        return (total ^ h) & self.all

    def cast(self, payloads, other):
        """To the payloads of another type."""
        signed = self.signed(payloads)
        if other.bits >= self.bits:
            return signed & other.all
        factor = sum((3511 & other.all) << at for at in range(0, self.bits, other.bits))
        found = []
        for p in signed:
            low = int(p) & other.all
            extended = low - (1 << other.bits) if low >> other.bits - 1 else low
            high = ((int(p) ^ extended) & self.all) * factor & self.all
            high >>= self.bits - other.bits
            found.append(low ^ high ^ high >> other.bits // 2)
        return np.array(found, object)


F32, F64, F16, BF16 = (Ring(t) for t in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16))
E4M3, E5M2 = Ring(ml_dtypes.float8_e4m3fn), Ring(ml_dtypes.float8_e5m2)


def _smallest(ring, a, b):
    return np.where(ring.signed(a) < ring.signed(b), a, b)


def _rest(ring, a, b):
    pairs = zip(ring.signed(a), ring.signed(b))
    return np.array([abs(x) % abs(y | 1) * (1 if x >= 0 else -1) for x, y in pairs], object)


#: An expression of the language, and what it is in a ring.
BOTH = {
    "a + b": lambda r, a, b: a + b,
    "a - b": lambda r, a, b: a - b,
    "a * b": lambda r, a, b: a * b,
    "a / b": lambda r, a, b: a * r.inverse(b),
    "a % b": _rest,
    "tl.minimum(a, b)": _smallest,
    "tl.maximum(a, b)": lambda r, a, b: a + b - _smallest(r, a, b),
    "tl.fma(a, b, a)": lambda r, a, b: a * b + a,
    "-b": lambda r, a, b: -b,
    "tl.abs(a) + 0": lambda r, a, b: r.embed(np.abs(r.unembedded)),
    "tl.where(b == b, a, 0)": lambda r, a, b: np.where(np.isnan(r.unembedded), 0, a),
    "a + tl.sum(b)": lambda r, a, b: a + b.sum(),
    "a + tl.max(b)": lambda r, a, b: a + max(r.signed(b)),
    "tl.cumsum(b)": lambda r, a, b: b.cumsum(),
    "tl.sort(b)": lambda r, a, b: np.array(sorted(r.signed(b)), object),
}
WIDE = {
    "tl.exp2(a)": lambda r, a: r.power(a),
    "tl.exp(a)": lambda r, a: r.power(a * 648190581 & r.all),
    "tl.cos(a)": lambda r, a: r.angle(a)[0],
    "tl.sin(a)": lambda r, a: r.angle(a)[1],
    "tl.log(a)": lambda r, a: r.tag(a, 1),
    "tl.log2(a)": lambda r, a: r.tag(a, 3),
    "tl.sqrt(a)": lambda r, a: r.tag(a, 6),
    "tl.rsqrt(a)": lambda r, a: r.tag(a, 7),
    "tl.erf(a)": lambda r, a: r.tag(a, 8),
    "tl.floor(a)": lambda r, a: r.tag(a, 9),
    "tl.ceil(a)": lambda r, a: r.tag(a, 10),
}
SINGLE = {
    "tl.sqrt_rn(a)": lambda r, a: r.tag(a, 11),
    "tl.div_rn(a, a + 1)": lambda r, a: a * r.inverse((a + 1) & r.all),
    "libdevice.tanh(a)": lambda r, a: r.call("__nv_tanhf", a),
    "libdevice.pow(a, a)": lambda r, a: r.call("__nv_powf", a, a),
    "libdevice.fast_expf(a)": lambda r, a: r.power(a * 648190581 & r.all),
}
COUNT = 64


def data(ring, seed, count=COUNT):
    """Bits of every kind, infinities and NaNs among them."""
    random = np.random.default_rng(seed)
    x = random.integers(0, 256, count * ring.dtype.itemsize, np.uint8).view(ring.dtype)
    x[:4] = np.array([0, 1, -1, 2]).astype(ring.dtype)
    return x


def made(body):
    """A kernel of tensors x, y and out, of which each element is a, b and the result."""
    text = "@triton.jit\ndef kernel(x, y, out, N: tl.constexpr):\n" + textwrap.indent(
        f"i = tl.arange(0, N)\na, b = tl.load(x + i), tl.load(y + i)\n{body}", "    "
    )
    name = f"<{body}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"triton": blockscope, "tl": tl, "libdevice": libdevice, "__name__": __name__}
    exec(compile(text, name, "exec"), space)
    return space["kernel"]


def run(body, x, y, dtype, steps=False, count=COUNT):
    out = np.zeros(count, dtype)
    blockscope.set_interpret_mode(steps)
    try:
        made(body)[(1,)](x, y, out, COUNT, instrumentation_mode="fpsan")
    finally:
        blockscope.set_interpret_mode(False)
    return out


def check(expression, to, payloads, x, y):
    for steps in (False, True):
        found = to.embed(run(f"tl.store(out + i, {expression})", x, y, to.dtype, steps))
        assert list(found) == [int(p) & to.all for p in payloads], f"step by step: {steps}"


@pytest.mark.parametrize("ring", [F32, F64, F16, BF16], ids=lambda r: r.dtype.name)
@pytest.mark.parametrize("expression", BOTH)
def test_two_operands(ring, expression):
    widened = {"a / b", "a % b", "a + tl.max(b)"}
    if ring is BF16:
        widened |= {"tl.minimum(a, b)", "tl.maximum(a, b)", "tl.cumsum(b)"}
    if ring.bits == 16 and expression in widened:
        pytest.skip("the language computes this in fp32")
    x, y = data(ring, 1), data(ring, 2)
    ring.unembedded = x if "abs" in expression else y
    check(expression, ring, BOTH[expression](ring, ring.embed(x), ring.embed(y)), x, y)


@pytest.mark.parametrize("ring", [F32, F64], ids=lambda r: r.dtype.name)
@pytest.mark.parametrize("expression", WIDE)
def test_functions(ring, expression):
    x = data(ring, 3)
    check(expression, ring, WIDE[expression](ring, ring.embed(x)), x, x)


@pytest.mark.parametrize("expression", SINGLE)
def test_functions_of_fp32(expression):
    x = data(F32, 4)
    check(expression, F32, SINGLE[expression](F32, F32.embed(x)), x, x)


@pytest.mark.parametrize("to", [F32, F64, F16, BF16, E4M3, E5M2], ids=lambda r: r.dtype.name)
@pytest.mark.parametrize("ring", [F32, F64, F16, BF16, E4M3, E5M2], ids=lambda r: r.dtype.name)
def test_casts(ring, to):
    x = data(ring, 5)
    check("a.to(out.dtype.element_ty)", to, ring.cast(ring.embed(x), to), x, x)


@pytest.mark.parametrize(
    "ring, out",
    [(F32, F32), (F64, F64), (F16, F32), (F16, F16), (BF16, F32), (E4M3, F32)],
    ids=lambda r: r.dtype.name,
)
def test_dots(ring, out):
    random = np.random.default_rng(6)
    x, y = (
        random.integers(0, 256, 256 * ring.dtype.itemsize, np.uint8).view(ring.dtype) for _ in "xy"
    )
    a, b = (ring.cast(ring.embed(side), out).reshape(16, 16) for side in (x, y))
    body = """
m = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
p, q = tl.load(x + m), tl.load(y + m)
tl.store(out + m, tl.dot(p, q, out_dtype=out.dtype.element_ty))
"""
    expected = [int(p) & out.all for p in (a.dot(b)).reshape(-1)]
    for steps in (False, True):
        assert list(out.embed(run(body, x, y, out.dtype, steps, 256))) == expected


@pytest.mark.parametrize("ring", [F32, F64, F16, BF16], ids=lambda r: r.dtype.name)
@pytest.mark.parametrize("kind", ["add", "max", "min"])
def test_atomics(ring, kind):
    if kind != "add" and ring.bits == 16:
        pytest.skip("atomics of 16 bits add only")
    x = data(ring, 7)
    payloads = ring.signed(ring.embed(x))
    expected = {"add": sum(payloads), "max": max(0, *payloads), "min": min(0, *payloads)}[kind]
    for steps in (False, True):
        found = run(f"tl.atomic_{kind}(out + i * 0, a)", x, x, ring.dtype, steps, 1)
        assert int(ring.embed(found)[0]) == int(expected) & ring.all


def test_assembly_is_told_apart_by_its_text():
    def assembly(text):
        return f'tl.inline_asm_elementwise("{text}", "=f,f", [a], tl.float32, True, 1)'

    x = data(F32, 8)
    payloads = F32.embed(x)
    text = "ex2.approx.f32 $0, $1;"
    check(assembly(text), F32, F32.call(text, payloads), x, x)


COMPILED = {
    "elements": "tl.store(out + i, -a / b + tl.maximum(a, b).to(a.dtype) + tl.sum(a * b))",
    "atomics": "tl.atomic_add(out + i % 4, a)",
    "dots": """
        m = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
        sum = tl.zeros((16, 16), tl.float32 if x.dtype.element_ty != tl.float64 else tl.float64)
        for _ in range(3):
            sum = tl.dot(tl.load(x + m), tl.load(y + m), sum)
        tl.store(out + m, sum)
        """,
}


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")
@pytest.mark.parametrize("ring", [F32, F64, F16, BF16], ids=lambda r: r.dtype.name)
@pytest.mark.parametrize("case", COMPILED)
def test_compiled(ring, case):
    """What GPUs run gives the same bits."""
    body = textwrap.dedent(COMPILED[case])
    x, y = data(ring, 9, 256), data(ring, 10, 256)
    types = {np.float32: "fp32", np.float64: "fp64", np.float16: "fp16"}
    types = dict.fromkeys(("x", "y", "out"), "*" + types.get(ring.dtype.type, "bf16"))
    compiled = blockscope.compile(
        blockscope.compiler.ASTSource(made(body), {**types, "N": "constexpr"}, {"N": COUNT}),
        target=blockscope.backends.compiler.GPUTarget("cuda", 90, 32),
        options={"instrumentation_mode": "fpsan", "num_stages": 1},
    )
    out = np.zeros(256, ring.dtype)
    machine = ptx_machine.Machine(compiled.asm["ptx"], 4)
    machine.run((1, 1, 1), [x, y, out], compiled.metadata.shared)
    assert list(ring.embed(out)) == list(ring.embed(run(body, x, y, ring.dtype, count=256)))


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")
@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_bits_stay_bits(dtype):
    """An instruction that negates a float gives a NaN other bits."""
    body = (
        "c = tl.load(x + 134 + i) if tl.load(x) > 0 else tl.load(y + i)\ntl.store(out + i, c + 0.0)"
    )
    types = {**dict.fromkeys(("x", "y", "out"), f"*{dtype}"), "N": "constexpr"}
    compiled = blockscope.compile(
        blockscope.compiler.ASTSource(made(body), types, {"N": COUNT}),
        target=blockscope.backends.compiler.GPUTarget("cuda", 90, 32),
        options={"instrumentation_mode": "fpsan"},
    )
    assert not re.search(r"\b(neg|abs|copysign)[a-z.]*\.[bf]", compiled.asm["ptx"])


def test_no_mode_may_be_none():
    with blockscope.knobs.compilation.scope():
        blockscope.knobs.compilation.instrumentation_mode = None
        x = np.ones(COUNT, np.float32)
        made("tl.store(out + i, a + 1)")[(1,)](x, x, x, COUNT)
    assert (x == 2).all()


def test_modes_that_do_not_exist_are_refused():
    x = np.zeros(COUNT, np.float32)
    with pytest.raises(ValueError, match="instrumentation_mode is 'fpsam', expected one of fpsan"):
        made("tl.store(out + i, a)")[(1,)](x, x, x, COUNT, instrumentation_mode="fpsam")


# What can be decided.


@blockscope.jit
def plain_matmul(a, b, c, K: tl.constexpr, BLOCK: tl.constexpr, FORGETS: tl.constexpr):
    m = tl.arange(0, 16)[:, None]
    n = tl.arange(0, 16)[None, :]
    k = tl.arange(0, BLOCK)
    sum = tl.zeros((16, 16), tl.float32)
    for start in range(0, K - FORGETS * BLOCK, BLOCK):
        left = tl.load(a + m * K + start + k[None, :])
        sum += tl.dot(left, tl.load(b + (start + k[:, None]) * 16 + n), input_precision="ieee")
    tl.store(c + m * 16 + n, sum)


@blockscope.jit
def split_matmul(a, b, c, K: tl.constexpr, BLOCK: tl.constexpr):
    """A program for each part of K, summed by atomics, with products written out."""
    m = tl.arange(0, 16)[:, None]
    n = tl.arange(0, 16)[None, :]
    sum = tl.zeros((16, 16), tl.float32)
    for i in range(BLOCK):
        k = tl.program_id(0) * BLOCK + i
        sum += tl.load(b + k * 16 + n) * tl.load(a + m * K + k)
    tl.atomic_add(c + m * 16 + n, sum)


def multiply(a, b, block=16, forgets=0):
    c = torch.empty(16, 16)
    plain_matmul[(1,)](a, b, c, a.shape[1], block, forgets)
    return c


def multiply_parts(a, b):
    c = torch.zeros(16, 16)
    split_matmul[(a.shape[1] // 32,)](a, b, c, a.shape[1], 32)
    return c


def test_order_and_tiles_make_no_difference():
    a, b = torch.randn(16, 128), torch.randn(128, 16)
    found = blockscope.same(multiply, multiply_parts, a, b)
    assert found, found
    assert str(found) == "result: the same"  # nothing else is written
    assert blockscope.same(multiply, lambda a, b: multiply(a, b, 32), a, b)


def test_formulas_are_compared_step_by_step():
    a, b = torch.randn(16, 64), torch.randn(64, 16)
    blockscope.set_interpret_mode(True)
    try:
        assert blockscope.same(multiply, multiply_parts, a, b)
        assert not blockscope.same(multiply, lambda a, b: multiply(a, b, forgets=1), a, b)
    finally:
        blockscope.set_interpret_mode(False)


def test_another_formula_is_found():
    a, b = torch.randn(16, 128), torch.randn(128, 16)
    found = blockscope.same(multiply, lambda a, b: multiply(a, b, forgets=1), a, b)
    assert [difference.name for difference in found.differences] == ["result"]
    assert "another formula in 256 of 256 elements, first [0, 0]: bits 0x" in str(found)


def test_where_results_differ_and_which_is_which():
    x = np.zeros((8, 6), np.float32)
    y = x.copy()
    y[2:4, 1:3] = 1
    bits = {name: formulas.Bits.of(array) for name, array in (("x", x), ("y", y))}
    found = formulas.compared({"out": bits["x"]}, {"out": bits["y"]}, ("a.py", "b.py"))
    assert found.differences[0].text == (
        "another formula in 4 of 48 elements, all in [2:4, 1:3], first [2, 1]: bits 0x00000000 in "
        "a.py, 0x3f800000 in b.py"
    )
    single = [{"out": formulas.Bits.of(np.array(value))} for value in (1.0, 2.0)]
    assert "in 1 of 1 elements, first [0]" in formulas.compared(*single).differences[0].text


def test_arguments_that_are_written_count():
    def add(a, b, c):
        made("tl.store(out + i, a + b)")[(1,)](a, b, c, COUNT)

    def subtract(a, b, c):
        made("tl.store(out + i, a - b)")[(1,)](a, b, c, COUNT)

    tensors = [torch.randn(COUNT) for _ in range(3)]
    assert str(blockscope.same(add, add, *tensors)) == "c: the same"
    found = blockscope.same(add, subtract, *tensors)
    assert str(found).startswith(f"c: another formula in {COUNT} of {COUNT} elements, first [0]: ")
    assert str(found).endswith("torch's own arithmetic: docs/algebra.md)")


def test_what_cannot_be_compared_is_said():
    def launches(result):
        def function():
            x = torch.zeros(COUNT)
            made("tl.load(x + i)")[(1,)](x, x, x, COUNT)
            return result

        return function

    one, two = torch.zeros(1), torch.zeros(2)
    with pytest.raises(ValueError, match="the second function launched no kernel: what torch or"):
        blockscope.same(launches(one), lambda: one)
    with pytest.raises(ValueError, match="no tensor was returned or written to"):
        blockscope.same(launches(1), launches(1))
    with pytest.raises(ValueError, match="one returns 1 tensor, the other 2 tensors"):
        blockscope.same(launches(one), launches((one, one)))
    found = blockscope.same(launches(one), launches(two))
    assert str(found) == "result: shape [1] in one, [2] in the other"


SOFTMAX = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x, out, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + i)
    BODY

x = torch.randn(4, 64)
out = torch.empty_like(x)
kernel[(4,)](x, out, 64)
"""


def files(tmp_path, *bodies):
    paths = []
    for i, body in enumerate(bodies):
        paths.append(tmp_path / f"file{i}.py")
        text = textwrap.indent(textwrap.dedent(body), "    ").strip()
        paths[-1].write_text(SOFTMAX.replace("BODY", text))
    return [str(path) for path in paths]


def test_two_files(tmp_path):
    one, other, wrong = files(
        tmp_path,
        "tl.store(out + i, tl.exp(a - tl.max(a)) / tl.sum(tl.exp(a - tl.max(a))))",
        """
        e = tl.exp2(a * 1.0) * 0 + tl.exp(a) * tl.exp(-tl.max(a, 0))
        tl.store(out + i, e * (1 / tl.sum(e)))
        """,
        "tl.store(out + i, tl.exp(a) / tl.sum(tl.exp(a)) + 0.001)",
    )
    done = command("same", one, other)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "out: the same\n"
    done = command("same", one, wrong)
    assert done.returncode == 1
    assert done.stdout.startswith("out: another formula in 256 of 256 elements")
    assert command("same", one, str(tmp_path / "none.py")).returncode == 2


def test_files_without_a_result_in_common_are_not_the_same(tmp_path):
    one, renamed, inside = files(tmp_path, *["tl.store(out + i, a)"] * 3)
    for path, change in (
        (renamed, lambda text: text.replace("out = ", "y = ").replace("](x, out,", "](x, y,")),
        (inside, lambda text: text.replace("x = ", "def f():\n  global x\n  x = ")
            .replace("\nout", "\n  out").replace("\nkernel[", "\n  kernel[") + "\nf()\n"),
    ):  # fmt: skip
        with open(path) as file:
            text = change(file.read())
        with open(path, "w") as file:
            file.write(text)
        done = command("same", one, path)
        assert done.returncode == 2, done.stdout + done.stderr
        assert done.stdout == "" and "there is nothing to compare: kernels wrote" in done.stderr
        assert f"only in {one}: out" in done.stderr


def test_inputs_that_differ_are_said(tmp_path):
    one, other = files(tmp_path, *["tl.store(out + i, a)"] * 2)
    with open(other) as file:
        text = file.read().replace("x = torch.randn", "torch.rand(1)\nx = torch.randn")
    with open(other, "w") as file:
        file.write(text)
    done = command("same", one, other)
    assert done.returncode == 1 and "the inputs differ: x (both files begin" in done.stderr


def test_a_comparison_in_a_file_that_fails_is_one_line(tmp_path):
    one, other = files(tmp_path, *["tl.store(out + i, tl.exp(a))"] * 2)
    for path, line in ((one, "torch.testing.assert_close(out, x.exp())"), (other, "1 / 0")):
        with open(path, "a") as file:
            file.write(line + "\n")
    done = command("same", one, other)
    assert done.stdout == "out: the same\n"
    assert done.stderr.startswith(f"{one} ended with status 1; its tensors are compared")
    assert "ZeroDivisionError" in done.stderr  # all else is told as always


def test_a_launch_that_fails_has_nothing_to_compare(tmp_path):
    one, other = files(tmp_path, "tl.store(out + i, a)", "tl.store(out + i + 9999, a)")
    done = command("same", one, other)
    assert done.returncode == 2 and done.stdout == ""
    assert f"a launch of {other} failed, so there is nothing to compare" in done.stderr
