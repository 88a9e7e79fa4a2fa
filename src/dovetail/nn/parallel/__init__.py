"""Modules over several devices, as in ``torch.nn.parallel``; here a module runs on the device of
its parameters.

May import `module` of `nn`.
"""

import typing as _typing

from ...names.missing import serve_names as _serve_names
from .data_parallel import DataParallel, data_parallel

if _typing.TYPE_CHECKING:
    from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

_serve_names(
    __name__,
    ("distributed", "scatter_gather"),
    {
        "DistributedDataParallel": "dovetail.nn.parallel.distributed",
        "gather": "dovetail.nn.parallel.scatter_gather",
        "scatter": "dovetail.nn.parallel.scatter_gather",
    },
)
