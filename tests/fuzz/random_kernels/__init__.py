"""Random kernels, right by construction, run in every way that Blockscope has (see __main__.py)."""
