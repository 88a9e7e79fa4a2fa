"""The special functions that are not functions at the top."""

from ._generated.special import *  # noqa: F403
from ._generated.special import __all__
