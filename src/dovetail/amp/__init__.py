"""Mixed precision, as in ``torch.amp``: `autocast`, decorators for `autograd.Function`, and
`GradScaler`.

May import the packages below.
"""

from dovetail_aten.autocast import autocast, is_autocast_available

from ..names.missing import serve_names as _serve_names
from .custom_functions import custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


_serve_names(__name__, ("autocast_mode",))
