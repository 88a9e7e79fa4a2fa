"""Making a new package with an operator library: plain files with names filled in."""

from .package import write_package

__all__ = ["write_package"]
