"""Mixed precision, as ``torch.amp``: `autocast`, functions that know it, and `GradScaler`.

May import the packages below.
"""

from dovetail_aten.autocast import autocast, is_autocast_available

from .custom_functions import custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
