"""The NVIDIA back end's module path; there is no GPU back end yet."""
