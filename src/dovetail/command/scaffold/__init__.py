"""Making a new package with an operator library: plain files with names filled in.

May import the standard library alone.
"""

from .package import write_package

__all__ = ["write_package"]
