"""The error of a command that is used wrongly."""


class UsageError(Exception):
    """Ends the command with its text and status 2."""
