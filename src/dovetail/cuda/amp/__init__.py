"""Mixed precision by its old names, as ``torch.cuda.amp``; `amp` has the new ones."""

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
