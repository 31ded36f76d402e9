"""What ends a run."""


class Failure(Exception):
    """Its text tells the user."""
