"""``triton._C``: Triton's compiled part. Of ``libtriton`` there is what public files import."""
