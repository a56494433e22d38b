"""The name under which triton-cpu offers its driver."""
