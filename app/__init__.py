"""The service and the command around the solver."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("interlace")
except PackageNotFoundError:  # pragma: no cover - a checkout that was never installed
    VERSION = "0+checkout"
