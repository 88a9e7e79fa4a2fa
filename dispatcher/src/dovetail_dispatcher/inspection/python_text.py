"""Values as Python writes them, for programs that are printed."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from dovetail_kernel import Device, dtype


def python_text(value: object, others: Callable[..., str] = repr) -> str:
    """Return the Python expression of an argument: a list or tuple with its items, a number
    (including infinities and NaN), a dtype or a device.

    Parameters
    ----------
    others
        Returns the text of other values, such as tensors. Default: `repr`.
    """
    if isinstance(value, list) or type(value) is tuple:
        inner = ", ".join([python_text(each, others) for each in value])
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if value else "()"
    if isinstance(value, float) and not isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, complex) and not (isfinite(value.real) and isfinite(value.imag)):
        return f"complex({python_text(value.real)}, {python_text(value.imag)})"
    if isinstance(value, dtype):
        return f"dovetail.{value.name}"
    if isinstance(value, Device):
        return repr(str(value))
    return others(value)
