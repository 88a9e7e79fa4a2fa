"""Special functions, as ``torch.special``: gamma, error and Bessel functions, and polynomials."""

import typing as _typing

from dovetail_aten import special as _special
from dovetail_aten.special import *  # noqa: F403

from ..names.missing import names_of as _names_of

__all__: list[str] = []
__all__ += _special.__all__


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, prefix="special_")
