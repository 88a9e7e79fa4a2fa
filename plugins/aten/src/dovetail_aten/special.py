"""The special functions that are not functions at the top."""

from ._generated import special as _generated
from ._generated.special import *  # noqa: F403

__all__: list[str] = []
__all__ += _generated.__all__
