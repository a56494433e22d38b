"""Triton's compiled part has no counterpart here: importing it is an error that says so."""

raise ImportError(
    "Blockscope has no 'triton._C': that is the private compiled part of Triton; "
    "use the public names of triton, triton.language and triton.runtime",
    name="triton._C",
)
