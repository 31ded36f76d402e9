"""A package that was built without the library says what is missing."""

try:
    import tickwheel.durable  # noqa: F401
except ImportError as error:
    assert "libtickwheel-durable-dev" in str(error), error
else:
    raise SystemExit("the import succeeded")
