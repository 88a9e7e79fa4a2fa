"""What ``torch.utils.serialization`` has: `config`, the settings of `load` and `save`."""

from . import config

__all__ = ["config"]
