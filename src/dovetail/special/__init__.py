"""Special functions, as ``torch.special``: gamma, error and Bessel functions, and polynomials."""

from dovetail_aten import special as _special
from dovetail_aten.special import *  # noqa: F403

from ..names.missing import serve_names as _serve_names

__all__: list[str] = []
__all__ += _special.__all__


_serve_names(__name__, prefix="special_")
