"""`config`: the settings of `load` and `save`, as in ``torch.utils.serialization``."""

from . import config

__all__ = ["config"]
