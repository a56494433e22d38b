"""The part of the language that Triton writes in itself; the module exists for its import path."""

from blockscope.language.creation import zeros, zeros_like
from blockscope.language.elementwise import cdiv
from blockscope.language.math import sigmoid, softmax
from blockscope.language.reduce import (
    _elementwise_max,
    _elementwise_min,
    _or_combine,
    _pick_sum_dtype,
    _prod_combine,
    _sum_combine,
    _xor_combine,
    argmax,
    argmin,
    max,
    min,
    reduce_or,
    sum,
    xor_sum,
)
from blockscope.language.scan import cumprod, cumsum
from blockscope.language.shape import flip, interleave, ravel, squeeze, swizzle2d, unsqueeze
from blockscope.language.sort import bitonic_merge, sort, topk

__all__ = [
    "_elementwise_max",
    "_elementwise_min",
    "_or_combine",
    "_pick_sum_dtype",
    "_prod_combine",
    "_sum_combine",
    "_xor_combine",
    "argmax",
    "argmin",
    "bitonic_merge",
    "cdiv",
    "cumprod",
    "cumsum",
    "flip",
    "interleave",
    "max",
    "min",
    "ravel",
    "reduce_or",
    "sigmoid",
    "softmax",
    "sort",
    "squeeze",
    "sum",
    "swizzle2d",
    "topk",
    "unsqueeze",
    "xor_sum",
    "zeros",
    "zeros_like",
]
