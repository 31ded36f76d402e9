from ..stub import copy, load, rmdir  # noqa: F401
