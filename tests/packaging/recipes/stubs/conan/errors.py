from .stub import Refused as ConanInvalidConfiguration  # noqa: F401
