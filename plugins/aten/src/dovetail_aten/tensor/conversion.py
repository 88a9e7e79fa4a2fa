"""The arguments of ``Tensor.to`` in all their forms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from dovetail_kernel import Device, MemoryFormat, TensorBase, dtype

from ..kernel_support.geometry.memory_layout import check_memory_format
from .data.dtype_arguments import as_dtype


class Conversion(NamedTuple):
    """The wishes of a call of ``to``; None for what stays as it is."""

    dtype: dtype | None = None
    device: Device | None = None
    non_blocking: bool = False
    copy: bool = False
    memory_format: MemoryFormat | None = None


_KEYWORDS = frozenset({"dtype", "device", "other", "non_blocking", "copy", "memory_format"})


def conversion_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Conversion:
    """Return what the arguments of ``to(...)`` ask for.

    Parameters
    ----------
    args, kwargs
        ``(dtype)``, ``(device, dtype=None)`` or ``(other)``, then ``non_blocking`` and ``copy``; or
        by keyword.

    Raises
    ------
    TypeError
        For any other combination.
    """
    if (args and isinstance(args[0], TensorBase)) or "other" in kwargs:
        return _read(*args, **kwargs)
    try:
        return _kept(*args, **kwargs)
    except TypeError:  # also for what cannot be a key of a cache
        return _read(*args, **kwargs)


def _read(*args: Any, **kwargs: Any) -> Conversion:
    if len(args) == 1 and not kwargs and isinstance(args[0], TensorBase):
        return Conversion(args[0].dtype, args[0].device)
    if not kwargs.keys() <= _KEYWORDS:
        raise _refusal(args, kwargs)
    options = dict(kwargs)
    rest = list(args)
    first = rest[0] if rest else None
    if isinstance(first, TensorBase):
        options["other"] = rest.pop(0)
    elif isinstance(first, dtype | type):
        if "dtype" in options:
            raise _refusal(args, kwargs)
        options["dtype"] = rest.pop(0)
    elif rest:
        if "device" in options:
            raise _refusal(args, kwargs)
        options["device"] = rest.pop(0)
        if rest:
            if not (rest[0] is None or isinstance(rest[0], dtype | type)):
                raise _refusal(args, kwargs)
            options["dtype"] = rest.pop(0)
    for name in ("non_blocking", "copy"):
        if rest:
            options[name] = rest.pop(0)
    other = options.pop("other", None)
    if rest or not all(
        [isinstance(options.get(name, False), bool) for name in ("non_blocking", "copy")]
    ):
        raise _refusal(args, kwargs)
    if other is not None:
        if not isinstance(other, TensorBase) or "dtype" in options or "device" in options:
            raise _refusal(args, kwargs)
        options["dtype"], options["device"] = other.dtype, other.device
    check_memory_format("to", options.get("memory_format"))
    options["dtype"] = as_dtype(options.get("dtype"), "to")
    device = options.get("device")
    options["device"] = device if device is None or device.__class__ is Device else Device(device)
    return Conversion(**options)


_kept = lru_cache(256, typed=True)(_read)


def _refusal(args: tuple[object, ...], kwargs: Mapping[str, object]) -> TypeError:
    given = [type(a).__name__ for a in args] + [
        f"{name}={type(value).__name__}" for name, value in kwargs.items()
    ]
    return TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(given)}), but "
        "expected one of:\n"
        " * (device device = None, dtype dtype = None, bool non_blocking = False, bool copy = "
        "False, *, "
        "memory_format)\n"
        " * (dtype dtype, bool non_blocking = False, bool copy = False, *, memory_format)\n"
        " * (Tensor other, bool non_blocking = False, bool copy = False, *, memory_format)"
    )
