"""``triton.experimental`` (gluon, gsan) is not offered: importing it is an error that says so."""

raise ImportError(
    "Blockscope has no 'triton.experimental': gluon and gsan kernels cannot run here",
    name="triton.experimental",
)
