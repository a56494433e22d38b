"""What only mirrors a module path or a name of Triton's; ``paths`` has the table of paths."""
