"""The names of the kernels that are launched, as NVIDIA's library for profilers, CUPTI, tells."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import cupy

_DRIVER: Final = 1
"""The calls of the driver's interface; the runtime's calls come down to these."""
_LAUNCHES: Final = (307, 442, 477, 478, 514, 515, 652, 653)
"""cuLaunchKernel, cuLaunchCooperativeKernel, cuGraphLaunch and cuLaunchKernelEx, each also for the
default stream of a thread, as cupti_driver_cbid.h numbers them.
"""
_ENTER: Final = 0
_UNKNOWN_CALL: Final = 1
"""What CUPTI answers that is older than a number of `_LAUNCHES`."""
_TAKEN: Final = (12, 39)


class _CallbackData(ctypes.Structure):
    """The beginning of CUpti_CallbackData."""

    _fields_ = (
        ("site", ctypes.c_int),
        ("function", ctypes.c_char_p),
        ("parameters", ctypes.c_void_p),
        ("returned", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
    )


_Callback: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(_CallbackData)
)
_subscribed: list[tuple[ctypes.c_void_p, Any]] = []
"""The subscriber and what it calls, which has to live as long; at most one."""


def tell_launches(to: Callable[[str], None] | None) -> str | None:
    """Call `to` with the name of every kernel that is launched from now on, in the thread that
    launches it; None ends it. Return why CUPTI does not tell, None if it does.
    """
    try:
        cupti = _library()
    except OSError as error:
        return f"{error}. Install it: pip install {_distribution()}"
    while _subscribed:
        cupti.cuptiUnsubscribe(_subscribed.pop()[0])
    return None if to is None else _subscribe(cupti, to)


def _subscribe(cupti: Any, to: Callable[[str], None]) -> str | None:
    def launched(_user: object, _domain: int, _number: int, data: Any) -> None:
        call = data.contents
        if call.site == _ENTER:
            to((call.symbol or call.function).decode())

    callback, subscriber = _Callback(launched), ctypes.c_void_p()
    status = cupti.cuptiSubscribe(ctypes.byref(subscriber), callback, None)
    if status:
        why = ": another profiler is listening" if status in _TAKEN else ""
        return f"CUPTI answers with error {status}{why}"
    _subscribed.append((subscriber, callback))
    for number in _LAUNCHES:
        status = cupti.cuptiEnableCallback(1, subscriber, _DRIVER, number)
        if status not in (0, _UNKNOWN_CALL):
            tell_launches(None)
            return f"CUPTI answers with error {status}"
    return None


@cache  # each time a library is opened leaves classes that only the garbage collector takes away
def _library() -> Any:
    name = f"libcupti.so.{_version()}"
    for folder in (Path(), *_folders()):
        with suppress(OSError):
            return ctypes.CDLL(str(folder / name))
    raise OSError(f"{name} is not found")


def _folders() -> Iterator[Path]:
    """Yield where wheels of NVIDIA and CUDA itself have it."""
    for path in sys.path:
        yield Path(path, "nvidia", "cuda_cupti", "lib")
        yield Path(path, "nvidia", f"cu{_version()}", "lib")
    cuda = cupy.cuda.get_cuda_path()
    if cuda is not None:
        yield Path(cuda, "extras", "CUPTI", "lib64")
        yield Path(cuda, "lib64")


def _distribution() -> str:
    """Return the name of the wheel that has it: since CUDA 13 without a version."""
    version = _version()
    return "nvidia-cuda-cupti" if version >= 13 else f"nvidia-cuda-cupti-cu{version}"


def _version() -> int:
    return int(cupy.cuda.runtime.runtimeGetVersion()) // 1000
