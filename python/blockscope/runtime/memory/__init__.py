"""The memory of a launch's arguments."""
