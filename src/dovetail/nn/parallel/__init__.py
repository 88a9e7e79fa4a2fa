"""Modules over several devices, as in ``torch.nn.parallel``; here a module runs on the device of
its parameters.

May import `module` of `nn`.
"""

import typing as _typing

from ...names.missing import names_of as _names_of
from .data_parallel import DataParallel, data_parallel

if _typing.TYPE_CHECKING:
    from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(
        __name__,
        ("distributed", "scatter_gather"),
        {
            "DistributedDataParallel": "dovetail.nn.parallel.distributed",
            "gather": "dovetail.nn.parallel.scatter_gather",
            "scatter": "dovetail.nn.parallel.scatter_gather",
        },
    )
