"""The exception that ends a run."""


class Failure(Exception):
    """The text is for the user."""
