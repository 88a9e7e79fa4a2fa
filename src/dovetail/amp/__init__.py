"""Mixed precision, as in ``torch.amp``: `autocast`, decorators for `autograd.Function`, and
`GradScaler`.

May import the packages below.
"""

import typing as _typing

from dovetail_aten.autocast import autocast, is_autocast_available

from ..names.missing import names_of as _names_of
from .custom_functions import custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, ("autocast_mode",))
