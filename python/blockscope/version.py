"""The version of Triton that is offered."""

TRITON_VERSION = "3.7.0"
"""The version of Triton whose language and host side are offered."""
