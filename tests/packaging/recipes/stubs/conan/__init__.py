from .stub import ConanFile  # noqa: F401
