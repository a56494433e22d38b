"""Practice: kernels of public repositories, run from a folder of clones against torch."""
