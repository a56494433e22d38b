"""The name under which triton-shared offers its CPU driver."""
