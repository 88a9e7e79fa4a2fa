"""Modules over several devices, as ``torch.nn.parallel``: on one machine there is one, and a module
runs where its parameters are.

May import `module` of `nn`.
"""

from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
