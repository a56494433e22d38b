"""Magics and rich displays, in a notebook that is executed."""

import base64
import json
import re

import numpy as np
import pytest
from blockscope.report_html.interactive_map import from_csv

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

KERNELS = """
import numpy as np, triton, triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x + 1)

def launch(n): kernel[(1,)](np.zeros(n, np.float32), np.zeros(64, np.float32))
"""


def executed(tmp_path, *cells, **options):
    """The outputs of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    options = {"timeout": 240, "kernel_name": "python3", **options}
    client = nbclient.NotebookClient(
        notebook, resources={"metadata": {"path": str(tmp_path)}}, **options
    )
    client.execute()
    return [cell["outputs"] for cell in notebook.cells]


def data(outputs, kind):
    return [each["data"][kind] for each in outputs if kind in each.get("data", {})]


def printed(outputs):
    return "".join(each["text"] for each in outputs if each["output_type"] == "stream")


def size_of_png(text):
    png = base64.b64decode(text)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def test_a_notebook(tmp_path):
    """One notebook for all, since a kernel takes a while to start."""
    cells = {
        "load": "%load_ext blockscope",
        "kernels": KERNELS,
        "bad": "%%check asan,tsan as report\nprint('in the cell')\nlaunch(60)\nvalue = 5",
        "kept": "print(value, [each.code for each in report], report.error_count)",
        "good": "%%check\nlaunch(64)",
        "empty": "%%check\n1 + 1",
        "last": "report",
        "trace": "%%trace out.h5 --tensor out_ptr --size 800x600 as picture\nlaunch(64)",
        "picture": "picture",
        "again": "import blockscope\nblockscope.HeatMap('out.h5', tensor='x_ptr')",
        "unnamed": "%%trace\nlaunch(60)",
        "nothing": "%%trace\npass",
        "all": "%%check" + KERNELS + "launch(60)",
    }
    out = dict(zip(cells, executed(tmp_path, *cells.values()), strict=True))
    (html,) = data(out["bad"], "text/html")
    assert printed(out["bad"]) == "in the cell\n"
    assert "load of 4 bytes at byte 240 of &#x27;x_ptr&#x27;" in html and 'class="caret' in html
    assert re.search(r"<code>cell \[2\]:\d:9</code>", html) and "ipykernel" not in html
    (text,) = data(out["bad"], "text/plain")
    assert "error[oob-load]" in text and "hint: is a mask missing?" in text
    assert printed(out["kept"]) == "5 ['oob-load'] 1\n"
    assert "no findings" in data(out["good"], "text/html")[0]
    assert "nothing was checked" in data(out["empty"], "text/html")[0]
    assert data(out["last"], "text/html") == [html]
    (png,) = data(out["trace"], "image/png")
    assert size_of_png(png) == (800, 600) and (tmp_path / "out.h5").exists()
    assert data(out["picture"], "image/png") == [png]
    assert data(out["again"], "image/png")[0] != png
    assert len(data(out["unnamed"], "image/png")) == 1
    assert "1 finding, %%check shows it" in printed(out["unnamed"])
    assert "<code>cell [13]:" in data(out["all"], "text/html")[0]
    assert printed(out["nothing"]) == "no kernel was launched: nothing was recorded\n"


def test_values_to_look_at(tmp_path):
    shown = KERNELS.replace(
        "    tl.store", "    if SHOW: display(x, x[:, None] + x[None, :])\n    tl.store"
    )
    shown = shown.replace("(x_ptr, out_ptr)", "(x_ptr, out_ptr, SHOW: tl.constexpr)")
    cells = {
        "load": "%load_ext blockscope",
        "kernels": shown.replace(
            "np.zeros(64, np.float32))", "np.zeros(64, np.float32), SHOW=False)"
        ),
        "map": "%%trace m.h5 --tensor x_ptr --interactive as picture\nlaunch(60)",
        "compiled": "kernel[(1,)](np.zeros(64, np.float32), np.zeros(64, np.float32), SHOW=False)",
        "block": "import blockscope\nblockscope.set_interpret_mode(True)\n"
        "_ = kernel[(1,)](np.arange(64, dtype=np.float32), np.zeros(64, np.float32), SHOW=True)",
        "unload": "%unload_ext blockscope",
    }
    out = dict(zip(cells, executed(tmp_path, *cells.values()), strict=True))
    (html,) = data(out["map"], "text/html")
    assert "<b>x_ptr of m.h5</b>" in html and '"sizes": [64]' in html
    assert "1 finding, %%check shows it" in printed(out["map"])
    (html,) = data(out["compiled"], "text/html")
    assert "kernel &#x27;kernel&#x27;" in html and "<summary>tl, " in html and "tl.load" in html
    vector, matrix = data(out["block"], "text/html")
    assert (
        "<h3>fp32[64]</h3>" in vector
        and "<td>63.0</td>" in vector
        and "<td>30.0</td>" not in vector
    )
    assert "<h3>fp32[64, 64]</h3>" in matrix and "<td>126.0</td>" in matrix


def heat(rows, dims=2):
    head = [*(f"index{k}" for k in range(dims)), "byte_offset,loads,stores,atomics,inside"]
    return "\n".join([",".join(head), *(",".join(map(str, row)) for row in rows)])


def map_of(text):
    """Sizes, first indices and the counts by kind of a map: [kind, row, column]."""
    html = from_csv(text, "a < b")
    assert "<b>a &lt; b</b>" in html
    facts = json.loads(re.search(r"const data = (\{.*\});", html)[1])
    planes = np.frombuffer(base64.b64decode(facts["counts"]), "<u4")
    return facts, planes.reshape(4, facts["rows"], facts["columns"])


def test_counts_of_an_interactive_map():
    facts, planes = map_of(
        heat([(0, 0, 0, 2, 0, 0, 1), (3, 1, 28, 0, 5, 1, 1), (-1, 2, -4, 7, 0, 0, 0)])
    )
    assert facts["first"] == [-1, 0] and facts["sizes"] == [5, 3] and facts["step"] == 1
    assert planes[:, 1, 0].tolist() == [2, 0, 0, 0] and planes[:, 4, 1].tolist() == [0, 5, 1, 0]
    assert planes[:, 0, 2].tolist() == [7, 0, 0, 1] and planes.sum() == 16
    facts, planes = map_of(heat([(k, 4 * k, k, 0, 0, 1) for k in range(100)], dims=1))
    assert planes[0].reshape(-1)[:100].tolist() == list(range(100))
    facts, planes = map_of(heat([(1, 2, 3, 0, 1, 0, 0, 1), (0, 0, 0, 0, 9, 0, 0, 1)], dims=3))
    assert facts["sizes"] == [2, 3, 4] and planes[0, 1 * 3 + 2, 3] == 1 and planes[0, 0, 0] == 9
    facts, planes = map_of(heat([(0, 0, 0, 1, 0, 0, 1), (2047, 2047, 4, 1, 0, 0, 1)]))
    assert facts["step"] == 4 and planes[0, 511, 511] == 1 and planes[0].sum() == 2
    facts, planes = map_of(heat([(0, 0, 0, 1, 0, 0, 1), (0, 1 << 50, 4, 1, 0, 0, 0)]))
    assert planes[0].sum() == 2 and planes[3].sum() == 1 and facts["width"] == (1 << 50) + 1
    assert "<b>DATA of TITLE</b>" in from_csv(heat([(0, 0, 0, 1, 0, 0, 1)]), "DATA of TITLE")
    with pytest.raises(ValueError, match="nothing touched x"):
        from_csv(heat([]), "x")


def test_defaults_of_a_project(tmp_path):
    table = '[tool.blockscope]\nchecks = ["tsan"]\n[tool.blockscope.severity]\noob-load = "note"\n'
    (tmp_path / "pyproject.toml").write_text(table)
    out = executed(tmp_path, "%load_ext blockscope", KERNELS, "%%check\nlaunch(60)")
    (html,) = data(out[2], "text/html")
    assert "<dd>tsan</dd>" in html and "1 note" in html


def test_wrong_use_and_errors(tmp_path):
    cells = {
        "load": "%load_ext blockscope",
        "check": "%%check asn\n1",
        "words": "%%check asan tsan\n1",
        "as": "%%check as\n1",
        "option": "%%trace --tensr x\n1",
        "tensor": KERNELS + "\n",
        "drawn": "%%trace --tensor nope\nlaunch(60)",
        "folder": "%%trace none/t.h5\n1",
        "no": "import blockscope\nblockscope.HeatMap('none.h5')",
        "error": "%%check\nraise ValueError('in the cell')",
    }
    out = dict(zip(cells, executed(tmp_path, *cells.values(), allow_errors=True), strict=True))

    def said(name):
        return "".join(
            "\n".join(each.get("traceback", [])) + each.get("evalue", "") for each in out[name]
        ) + printed(out[name])  # fmt: skip

    assert "unknown check 'asn', expected" in said("check")
    assert "expected %%check [CHECKS] [as NAME]" in said("words")
    assert "expected %%check [CHECKS] [as NAME]" in said("as")
    assert "found '--tensr', expected %%trace" in said("option")
    assert "there is no folder" in said("folder")
    assert "there is no tensor 'nope'; the launch has" in said("drawn")
    for name in ("check", "words", "as", "option", "drawn", "folder"):
        assert "Traceback" not in said(name), said(name)
    assert "no picture of 'none.h5': " in said("no")
    assert "ValueError: in the cell" in said("error") or "in the cell" in said("error")
    assert "nothing was checked" in data(out["error"], "text/html")[0]
    assert "no findings" not in data(out["error"], "text/html")[0]
