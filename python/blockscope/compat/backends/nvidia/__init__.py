"""The NVIDIA back end's module path."""
