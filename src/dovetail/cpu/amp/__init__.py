"""Mixed precision by its old names, as ``torch.cpu.amp``; `amp` has the new ones."""

from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
