"""Processes and queues that share tensors, as ``torch.multiprocessing``: the standard library's
`multiprocessing`, in which the memory of a tensor that is sent is not copied.

Importing it makes the queues and processes of `multiprocessing` itself do the same. A tensor that
is sent moves to shared memory, as ``share_memory_()`` moves it, and the other process sees what is
written to it. Keep it alive here until it has arrived there.

May import the packages below, and nothing of `nn` or what stands on it.
"""

import multiprocessing as _standard
import typing as _typing
from multiprocessing import *  # noqa: F403
from multiprocessing import reducer as reducer

from ..names.missing import serve_names as _serve_names
from . import reductions
from .sharing_strategies import (
    get_all_sharing_strategies,
    get_sharing_strategy,
    set_sharing_strategy,
)
from .spawning import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

reductions.init_reductions()

if not _typing.TYPE_CHECKING:
    __all__ = [  # noqa: PLE0604 - names, which ruff does not follow
        *_standard.__all__,
        "ProcessContext",
        "ProcessException",
        "ProcessExitedException",
        "ProcessRaisedException",
        "SpawnContext",
        "get_all_sharing_strategies",
        "get_sharing_strategy",
        "set_sharing_strategy",
        "spawn",
        "start_processes",
    ]


_serve_names(__name__)
