"""Values combined at places that may repeat: values of one place are brought together by sorting,
and one thread goes through them, in their order. So any dtype will do, and results do not vary.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import cupy
import numpy as np

from dovetail_aten.typing import Array

_COMBINED: Final = {
    "multiply": "(T)(now * value)",
    "maximum": "now >= value || now != now ? now : value",
    "minimum": "now <= value || now != now ? now : value",
}


@cache
def _kernel(function: str) -> Any:
    return cupy.ElementwiseKernel(
        "raw int64 places, raw int64 order, raw T values, int64 count",
        "raw T made",
        f"""
        const long long to = places[order[i]];
        if (i == 0 || places[order[i - 1]] != to) {{
          T now = made[to];
          for (long long each = i; each < count && places[order[each]] == to; each++) {{
            const T value = values[order[each]];
            now = {_COMBINED[function]};
          }}
          made[to] = now;
        }}
        """,
        f"dovetail_{function}_at_places",
    )


def combined(made: Array, key: tuple[object, ...], values: Array, function: str) -> Any:
    """Write into `made` at ``[key]`` what is there combined with `values`, and return it.

    Parameters
    ----------
    function
        ``multiply``, ``maximum`` or ``minimum``; the last two keep NaN.
    """
    places = cupy.arange(made.size).reshape(made.shape)[key]
    values = cupy.broadcast_to(cupy.asarray(values), places.shape)  # it may be a number
    places = places.ravel()
    if places.size:
        order = places.argsort().astype(np.int64, copy=False)
        line = cupy.ascontiguousarray(values).ravel()
        _kernel(function)(places, order, line, places.size, made, size=places.size)
    return made
