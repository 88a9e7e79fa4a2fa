"""Page-locked memory of the host, and copies into it that do not wait."""

from __future__ import annotations

from typing import Any

import cupy
import cupyx

from dovetail_aten.typing import Array


def is_pinned(array: Any) -> bool:
    """Return whether a NumPy array lies in page-locked memory."""
    return bool(cupy.cuda.pinned_memory.is_memory_pinned(array.ctypes.data))


def copied_soon(array: Array) -> Any:
    """Return a page-locked copy of `array` in C order, which is whole when the current stream is
    done.
    """
    made = cupyx.empty_pinned(array.shape, array.dtype)
    if made.size:
        stream = cupy.cuda.get_current_stream()
        cupy.ascontiguousarray(array).get(stream, out=made, blocking=False)
        # Its memory is not given to another array before the copy is done.
        cupy.cuda.pinned_memory._add_to_watch_list(stream.record(), made)
    return made
