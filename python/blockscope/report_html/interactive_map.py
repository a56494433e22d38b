"""A heat map to look around in: one piece of HTML with its script, which needs no network.

For notebooks, whose pages may run scripts; reports of checks have none.
"""

from __future__ import annotations

import base64
import csv
import io
import json

import numpy as np

from blockscope.report_html.text import escaped

_KINDS = ("loads", "stores", "atomics")
_MOST_CELLS = 1 << 18  # 5.6 MB of text in the notebook; larger maps add up neighbours


def from_csv(text: str, title: str) -> str:
    """HTML of the table ``blockscope view --csv heat``: a row for each element that was touched.

    Errors: ValueError when there is none.
    """
    rows = list(csv.reader(io.StringIO(text)))
    if len(rows) < 2:
        raise ValueError(f"nothing touched {title}")
    names = rows[0]
    dims = sum(name.startswith("index") for name in names)
    table = np.array(rows[1:], dtype=np.int64)
    index = [table[:, k] for k in range(dims)]
    counts = [table[:, names.index(kind)] for kind in _KINDS]
    outside = table[:, names.index("inside")] == 0
    lowest = [int(i.min()) for i in index]
    sizes = [int(i.max()) - min(low, 0) + 1 for i, low in zip(index, lowest, strict=True)]
    index = [i - min(low, 0) for i, low in zip(index, lowest, strict=True)]
    first = [min(low, 0) for low in lowest]
    if dims <= 1:  # a vector goes on in the next row
        flat = index[0] if dims else np.zeros(len(table), np.int64)
        count = sizes[0] if dims else 1
        width = count if count <= 64 else 1 << (int(np.sqrt(count)).bit_length())
        row, column = flat // width, flat % width
        shape = (-(-count // width), width)
    else:  # the last dimension to the right, all others down
        column, width = index[-1], sizes[-1]
        row = np.zeros(len(table), np.int64)
        for i, size in zip(index[:-1], sizes[:-1], strict=True):
            row = row * size + i
        shape = (int(np.prod(sizes[:-1])), width)
    step = 1
    while -(-shape[0] // step) * -(-shape[1] // step) > _MOST_CELLS:
        step *= 2
    shape = (-(-shape[0] // step), -(-shape[1] // step))
    cell = row // step * shape[1] + column // step
    planes = []
    for values in [*counts, outside.astype(np.int64)]:
        plane = np.bincount(cell, weights=values, minlength=shape[0] * shape[1])
        planes.append(np.minimum(plane, 2**32 - 1).astype("<u4"))
    data = {
        "rows": shape[0],
        "columns": shape[1],
        "step": step,
        "width": width,  # of a row, in elements
        "sizes": sizes,
        "first": first,
        "counts": base64.b64encode(np.concatenate(planes).tobytes()).decode("ascii"),
    }
    before, after = _PAGE.split("DATA")
    return before.replace("TITLE", escaped(title)) + json.dumps(data) + after


class InteractiveMap:
    """What a notebook shows; ``html`` is the text, such as for a file."""

    def __init__(self, text: str) -> None:
        self.html = text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return "<interactive heat map, for a notebook>"


# The colours are those of viridis in the viewer; what lies outside of the tensor is red.
_PAGE = """<div class="blockscope-map" style="font:13px system-ui,sans-serif;max-width:760px">
<div style="display:flex;gap:1em;align-items:baseline;flex-wrap:wrap"><b>TITLE</b>
<select aria-label="what is counted"><option value="7">all accesses</option>
<option value="1">loads</option><option value="2">stores</option><option value="4">atomics</option>
</select><label><input type="checkbox"> logarithmic</label><span style="opacity:.7">wheel: zoom,
drag: move, double click: all</span></div>
<canvas width="760" height="420" tabindex="0" style="width:100%;border:1px solid #8888;
touch-action:none;cursor:crosshair"></canvas>
<div class="said" aria-live="polite" style="min-height:1.4em;font-family:monospace"></div>
<script>(function () {
  const data = DATA;
  const root = document.currentScript.closest(".blockscope-map");
  const canvas = root.querySelector("canvas"), said = root.querySelector(".said");
  const kinds = root.querySelector("select"), log = root.querySelector("input");
  const bytes = Uint8Array.from(atob(data.counts), c => c.charCodeAt(0));
  const all = new Uint32Array(bytes.buffer), n = data.rows * data.columns;
  const plane = k => all.subarray(k * n, (k + 1) * n);
  const stops = [[68,1,84],[72,40,120],[62,74,137],[49,104,142],[38,130,142],[31,158,137],
                 [53,183,121],[109,205,89],[180,222,44],[253,231,37]];
  let scale, x0, y0, image;
  function counted(cell) {
    let sum = 0;
    for (let k = 0; k < 3; ++k) if (kinds.value >> k & 1) sum += plane(k)[cell];
    return sum;
  }
  function paint() {
    let most = 1;
    for (let c = 0; c < n; ++c) most = Math.max(most, counted(c));
    image = document.createElement("canvas");
    image.width = data.columns; image.height = data.rows;
    const pen = image.getContext("2d"), pixels = pen.createImageData(data.columns, data.rows);
    for (let c = 0; c < n; ++c) {
      const count = counted(c);
      let color = [128, 128, 128, 50];
      if (count) {
        const part = log.checked ? Math.log1p(count) / Math.log1p(most) : count / most;
        color = [...stops[Math.min(9, Math.floor(part * 9.999))], 255];
        if (plane(3)[c]) color = [214, 39, 40, 255];
      }
      pixels.data.set(color, c * 4);
    }
    pen.putImageData(pixels, 0, 0);
    draw();
  }
  function whole() {
    scale = Math.min(canvas.width / data.columns, canvas.height / data.rows);
    x0 = (canvas.width - data.columns * scale) / 2;
    y0 = (canvas.height - data.rows * scale) / 2;
  }
  function draw() {
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(image, x0, y0, data.columns * scale, data.rows * scale);
  }
  function place(event) {
    const box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width;
    return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
  }
  function indices(row, column) {
    const sizes = data.sizes, found = [];
    if (sizes.length < 2) return [row * data.width + column + (data.first[0] || 0)];
    found.push(column + data.first[sizes.length - 1]);
    for (let k = sizes.length - 2; k >= 0; --k) {
      found.unshift(row % sizes[k] + data.first[k]);
      row = Math.floor(row / sizes[k]);
    }
    return found;
  }
  function describe(event) {
    const [x, y] = place(event);
    const column = Math.floor((x - x0) / scale), row = Math.floor((y - y0) / scale);
    if (column < 0 || row < 0 || column >= data.columns || row >= data.rows) {
      said.textContent = "";
      return;
    }
    const c = row * data.columns + column, step = data.step;
    const at = "[" + indices(row * step, column * step).join(", ") + "]";
    said.textContent = (step > 1 ? step + " x " + step + " elements from " : "element ") + at +
      ": " + ["loads", "stores", "atomics"].map((name, k) => plane(k)[c] + " " + name).join(", ") +
      (plane(3)[c] ? ", outside of the tensor" : "");
  }
  let held = null;
  canvas.addEventListener("pointermove", event => {
    if (held) {
      const [x, y] = place(event);
      x0 += x - held[0]; y0 += y - held[1];
      held = [x, y];
      draw();
    }
    describe(event);
  });
  canvas.addEventListener("pointerdown", event => {
    held = place(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("dblclick", () => { whole(); draw(); });
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    const [x, y] = place(event), by = Math.exp(-event.deltaY / 400);
    const wanted = Math.min(64, Math.max(0.02, scale * by));
    x0 = x - (x - x0) * wanted / scale; y0 = y - (y - y0) * wanted / scale;
    scale = wanted;
    draw();
  }, { passive: false });
  kinds.addEventListener("change", paint);
  log.addEventListener("change", paint);
  whole();
  paint();
})();</script></div>
"""
