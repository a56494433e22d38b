"""The report as HTML: what is in the page, that nothing of a stranger is markup, how it looks."""

import html.parser
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from blockscope import checks, report_html
from blockscope.report_html.style import STYLE
from blockscope.report_html.text import escaped, from_markdown

PAIRS = Path(__file__).resolve().parents[1] / "kernels"
BIN = Path(sys.executable).parent
BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)


def command(*words, cwd=None):
    variables = {k: v for k, v in os.environ.items() if not k.startswith("BLOCKSCOPE_CHECK")}
    return subprocess.run(
        [BIN / "blockscope", *map(str, words)], capture_output=True, text=True, cwd=cwd,
        env=variables, timeout=240,
    )  # fmt: skip


class Page(html.parser.HTMLParser):
    """The elements of a page by class and name, each with its text; every tag has to be closed."""

    VOID = ("meta", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.tags = [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag not in self.VOID:
            self.open.append((tag, attributes, []))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, (tag, self.open[-1:])
        self.texts.append(self.open.pop())

    def handle_data(self, data):
        for _, _, parts in self.open:
            parts.append(data)

    def of(self, name):
        """The texts of the elements with this class or, without one, this tag."""
        return [
            "".join(parts)
            for tag, attributes, parts in self.texts
            if name in (tag, *attributes.get("class", "").split())
        ]


def page_of_pair(name, finder, *words):
    done = command(
        "check", "--checks", finder, "--format", "html", *words, f"{name}_bad.py", cwd=PAIRS
    )
    assert done.returncode in (0, 66), done.stderr
    return Page(done.stdout), done.stdout


def test_a_page_has_what_the_text_has():
    page, text = page_of_pair("forgotten_mask_load", "asan")
    said = command("check", "--checks", "asan", "forgotten_mask_load_bad.py", cwd=PAIRS).stderr
    (article,) = page.of("article")
    rows = dict(zip(page.of("dt"), page.of("dd"), strict=True))
    for line in said.splitlines():
        label, _, value = line.strip().partition(": ")
        if label in ("where", "tensor", "launch", "count"):
            assert rows[label] == value
        elif label == "hint":
            assert page.of("hint") == [f"Hint {value}"]
    assert rows["script"] == "forgotten_mask_load_bad.py" and rows["checks"] == "asan"
    assert page.of("tally") == ["1 error"] and "oob-load" in article
    (main,) = [each for each in page.of("line") if "oob-load" in each]
    assert main.lstrip().split()[0] in said  # its number
    (caret,) = page.of("caret")
    source_line = next(line for line in said.splitlines() if " | " in line)
    caret_line = said.splitlines()[said.splitlines().index(source_line) + 1]
    indent = len(caret_line.partition("| ")[2]) - 1
    assert caret.index("^") == indent
    assert "What to do" in page.of("page")[0] and "\n" not in page.of("title")[0]
    assert "http" not in text.replace("http-equiv", "")  # nothing of a network


def test_both_sides_of_a_race_are_beside_one_another():
    page, _ = page_of_pair("shared_counter", "tsan")
    assert page.of("tally") == ["2 errors"] and len(page.of("article")) == 2
    sides = page.of("side")
    assert len(sides) == 4 and len(page.of("sides")) == 2
    assert sides[0].startswith("this side: store by program (1, 0, 0)")
    assert sides[1].startswith("other side: store by program (0, 0, 0), value 64")
    links = [a["href"] for tag, a in page.tags if tag == "a"]
    ids = ["#" + a["id"] for tag, a in page.tags if "id" in a]
    assert links == ids == ["#finding-0", "#finding-1"]


def test_the_way_of_a_value_is_in_its_lines():
    page, _ = page_of_pair("masked_load_sum", "undefined")
    assert [" ".join(each.split()) for each in page.of("caret")] == [
        "^ born here: load by program (0, 0, 0), lane 100 of block [128]",
        "^ goes through here",
        "^ store by program (0, 0, 0)",
    ]


@pytest.mark.parametrize(
    "name, finder, element, said",
    [
        ("circle_of_locks", "tsan", "waiting", "program 0 in line 18 for 'lock_ptr'[1] = 1, taken"),
        ("precision_fp16_sum", "precision", "shares", "100%line 15, an addition in fp16"),
        ("nan_assert", "nan", "caret", "arrives here: program (0, 0, 0), lane 0 of block [16]"),
        ("padding_read_by_host", "undefined", "caret", "read by the host here"),
        ("empty_counts", "undefined", "caret", "allocated here"),
    ],
)
def test_other_kinds_of_places(name, finder, element, said):
    page, _ = page_of_pair(name, finder)
    assert any(said in " ".join(each.split()) for each in page.of(element)), page.of(element)


BAD = sorted(path.name[: -len("_bad.py")] for path in PAIRS.glob("*_bad.py"))
ASKED_FOR_BY_NAME = ("precision",)


@pytest.mark.parametrize("name", BAD[::20])
def test_a_bad_kernel_gives_a_page_that_is_whole(name):
    """Of each page all tags are closed."""
    page, _ = page_of_pair(name, ",".join(["all", *ASKED_FOR_BY_NAME]))
    assert page.of("article")


def test_there_are_bad_kernels():
    assert len(BAD) > 100


# --- strangers ------------------------------------------------------------------------------------

HOSTILE = "</code></div><script>alert(1)</script><img src=x onerror='a'>&amp;\"'"


def test_names_and_lines_are_no_markup(tmp_path):
    """Everything that a file of a stranger can say: its name, its kernel, its lines, a message."""
    file = tmp_path / f"{HOSTILE.replace('/', '')}.py"
    file.write_text(f"x = 1  # {HOSTILE}\ny = 'a\u202eb\x00c'\n")
    data = {
        "code": "oob-load", "severity": "error", "message": HOSTILE, "hint": HOSTILE,
        "file": str(file), "line": 1, "column": 3, "function": HOSTILE, "kernel": HOSTILE,
        "program": [0, 0, 0], "lane": 0, "block_shape": [4], "access": HOSTILE, "value": HOSTILE,
        "called_from": [{"file": str(file), "line": 2, "column": 1, "function": HOSTILE}],
        "shares": [{"file": str(file), "line": 1, "column": 1, "what": HOSTILE, "share": 0.5}],
    }  # fmt: skip
    text = f"x\n  where: {HOSTILE}\n  waiting:\n    {HOSTILE}\n"
    findings = [checks.Finding({**data, **more}, text)
                for more in ({}, {"other": {**data, "line": 2}})]  # fmt: skip
    allowed = [checks.Finding(data, text, allowed=HOSTILE)]
    run = report_html.Run(findings, allowed, title=HOSTILE, facts={HOSTILE: HOSTILE},
                          said=[HOSTILE], explain=lambda code: f"# {HOSTILE}\n\n`{HOSTILE}`\n",
                          pictures={0: (HOSTILE, HOSTILE)})  # fmt: skip
    text = report_html.page(run)
    page = Page(text)
    assert not {"script", "iframe"} & {tag for tag, _ in page.tags}
    pictures = [a for tag, a in page.tags if tag == "img"]
    assert [sorted(a) for a in pictures] == [["alt", "src"]]
    assert not any(name.startswith("on") for _, a in page.tags for name in a)
    assert HOSTILE in page.of("h1")[0] and HOSTILE in page.of("line")[0]
    assert "\u202e" not in text and "\\u202e" in text and "\\u0000" in text
    assert text.encode("utf-8") and page.of("title")[0].startswith(HOSTILE)


def test_lone_surrogates_can_be_written():
    assert escaped("a\udcffb").encode("utf-8") == b"a\\udcffb"


def test_pages_of_findings_as_html():
    text = "## Head\n\nA `x<y` and [words](a.md).\n\n- one\n- two\n\n```python\na < b\n\nc\n```\n"
    assert from_markdown(text) == (
        "<h4>Head</h4><p>A <code>x&lt;y</code> and words.</p><ul><li>one</li><li>two</li></ul>"
        "<pre>a &lt; b\n\nc</pre>"
    )


@pytest.mark.parametrize("text", ["x = (\n", "  x = 1\n y\n", "'''\nabc", "\tif x:\n\t\ty = 1\n"])
def test_lines_that_are_no_python(tmp_path, text):
    file = tmp_path / "a.py"
    file.write_text(text)
    data = {"code": "oob-load", "severity": "note", "message": "m", "file": str(file), "line": 1,
            "column": 1}  # fmt: skip
    page = Page(report_html.page(report_html.Run([checks.Finding(data, "m")])))
    assert page.of("line")[0] == "1" + text.splitlines()[0].expandtabs()
    for line in (0, 99):  # no such line
        data["line"] = line
        page = Page(report_html.page(report_html.Run([checks.Finding(data, "m")])))
        assert page.of("unread") == [f"line {line}: oob-load"]


# --- the command ----------------------------------------------------------------------------------


def test_a_run_without_findings(tmp_path):
    (tmp_path / "empty.py").write_text("print('hello')\n")
    done = command("check", "--format", "html", "--output", "r.html", "empty.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "hello\n",
        "wrote r.html: no kernel was launched\n",
    )
    page = Page((tmp_path / "r.html").read_text())
    assert page.of("tally") == ["nothing was checked"] and not page.of("clean")
    assert page.of("said") == ["no kernel was launched: nothing was checked"]


def test_a_terminal_gets_no_page(tmp_path):
    (tmp_path / "empty.py").write_text("")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [BIN / "blockscope", "check", "--format", "html", "empty.py"], cwd=tmp_path, stdout=theirs,
        stderr=subprocess.PIPE, text=True, timeout=240,
    )  # fmt: skip
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2 and "expected --output FILE or a pipe" in done.stderr


def test_heat_maps():
    page, _ = page_of_pair("forgotten_mask_load", "asan", "--heat-maps")
    ((_, picture),) = [each for each in page.tags if each[0] == "img"]
    assert picture["src"].startswith("data:image/png;base64,iVBORw0KGgo") and page.of("figcaption")
    done = command("check", "--heat-maps", "forgotten_mask_load_bad.py", cwd=PAIRS)
    assert done.returncode == 2
    assert "--heat-maps are pictures for --format html, found 'text'" in done.stderr


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_a_page_of_tests(tmp_path, words):
    (tmp_path / "test_it.py").write_text(
        "import numpy as np, pytest, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def kernel(x_ptr): tl.store(x_ptr + 8, 1.0)\n"
        "@pytest.mark.parametrize('n', [8, 9, 7])\n"
        "def test_it(n): kernel[(1,)](np.zeros(n, np.float32))\n"
    )
    done = subprocess.run(
        [BIN / "pytest", "-q", "-p", "no:cacheprovider", "--blockscope=asan", *words,
         "--blockscope-html=r.html"], cwd=tmp_path, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    page = Page((tmp_path / "r.html").read_text())
    assert page.of("tally") == ["1 error"] and len(page.of("article")) == 1
    assert dict(zip(page.of("dt"), page.of("dd"), strict=True))["tests"] == "3"


# --- in a browser ---------------------------------------------------------------------------------

HARD = "import numpy, triton, triton.language as tl\n\n@triton.jit\ndef kernel(x_ptr):\n" + (
    "    tl.store(x_ptr + 9, tl.program_id(0) * 1)  # " + "a long comment " * 30 + "\n"
    "\nkernel[(2,)](numpy.zeros(8, numpy.int64))\n"
)


def screenshot(folder, page, *, dark, width):
    from PIL import Image

    file = folder / f"{page.stem}-{dark}-{width}.png"
    subprocess.run(
        [BROWSER, "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--screenshot={file}",
         f"--blink-settings=preferredColorScheme={0 if dark else 1}",
         f"--window-size={width},900", page.as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return Image.open(file).convert("RGB")


@pytest.mark.skipif(BROWSER is None, reason="no chromium or chromium-headless-shell (Debian)")
def test_the_list_breaks_a_kernels_name_only_where_it_is_long(tmp_path):
    words = "programs (0, 1, 0) and (0, 0, 0) both write 'acc_ptr' at byte 0 " * 3
    rows = "".join(
        f"<tr><td>ERROR</td><td>race-write-write</td><td>rowsum_bad.py:16</td>"
        f"<td><span>{name}</span></td><td>{words}</td></tr>"
        for name in ("rowsum_kernel", "fused_copy_add_layer_norm_relu_" * 3)
    )
    (tmp_path / "list.html").write_text(
        f'<style>{STYLE}</style><div class="blockscope" style="width: 1100px">'
        f'<table class="list">{rows}</table></div><script>document.title = "lines " +'
        '[...document.querySelectorAll("span")].map(x => x.getClientRects().length)</script>'
    )
    done = subprocess.run(
        [BROWSER, "--no-sandbox", "--disable-gpu", "--dump-dom", tmp_path / "list.html"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    short, long = re.search(r"lines (\d+),(\d+)", done.stdout).groups()
    assert int(short) == 1 < int(long)


@pytest.mark.skipif(BROWSER is None, reason="no chromium or chromium-headless-shell (Debian)")
@pytest.mark.parametrize("dark", [False, True])
def test_how_it_looks(tmp_path, dark):
    """Light and dark by the reader's system; wide lines scroll in their block, not the page."""
    (tmp_path / "hard.py").write_text(HARD)
    done = command("check", "--format", "html", "--output", "r.html", "hard.py", cwd=tmp_path)
    assert done.returncode == 66
    for width in (1300, 500):
        image = screenshot(tmp_path, tmp_path / "r.html", dark=dark, width=width)
        assert image.getpixel((width - 3, 5)) == ((18, 22, 29) if dark else (255, 255, 255))
        colors = {color for _, color in image.getcolors(1 << 20)}
        error = (255, 143, 134) if dark else (179, 38, 30)
        assert error in colors  # the edge of the finding
        # Right of the card there is nothing but the page: no line sticks out.
        edge = [image.getpixel((width - 8, y)) for y in range(image.height)]
        assert set(edge) == {(18, 22, 29) if dark else (255, 255, 255)}
