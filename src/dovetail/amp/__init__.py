"""Mixed precision, as ``torch.amp``: the block `autocast`, and whether a device type has it.

May import the packages below.
"""

from dovetail_aten.autocast import autocast, is_autocast_available

__all__ = ["autocast", "is_autocast_available"]
