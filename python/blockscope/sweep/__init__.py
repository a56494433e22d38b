"""A launch with other parameters: every point of a product of values, checked (docs/sweeps.md)."""
