"""VMamba: images as four sequences, along rows and columns, forwards and backwards, and back."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("MzeroMiko/VMamba", "2ed52ead062a51a64521ed3871d52914bf532876")
FILE = "classification/models/csm_triton.py"
SIZES = dict(small=dict(b=2, c=3, h=40, w=37), production=dict(b=64, c=192, h=56, w=56))


def _scan(name, x_first, y_first, scans):
    def build(file, device, b, c, h, w):
        x = tm.normal(*((b, c, h, w) if x_first else (b, h, w, c)), device=device)
        options = dict(in_channel_first=x_first, out_channel_first=y_first, scans=scans)
        plain = file.cross_scan_fwd

        def run():
            return file.CrossScanTritonF.apply(x, x_first, y_first, False, scans)

        return run, lambda: plain(x, **options)

    repository.case(FILE, "triton_cross_scan_flex", name=name, **SIZES)(build)


def _merge(name, x_first, y_first, scans):
    def build(file, device, b, c, h, w):
        y = tm.normal(*((b, 4, c, h, w) if y_first else (b, h, w, 4, c)), device=device)
        options = dict(in_channel_first=x_first, out_channel_first=y_first, scans=scans)

        def run():
            return file.CrossMergeTritonF.apply(y, x_first, y_first, False, scans)

        return run, lambda: file.cross_merge_fwd(y.double(), **options)

    repository.case(FILE, "triton_cross_scan_flex", name=name, **SIZES)(build)


_scan("scan", True, True, 0)
_scan("scan_channels_last", False, False, 0)
_merge("merge", True, True, 0)
_merge("merge_to_channels_last", False, True, 2)
