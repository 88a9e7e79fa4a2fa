"""Arguments of constructors that say how parameters are made."""

from __future__ import annotations

from typing import Any, Final

_NAMES: Final = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a constructor that its parameters are made with.

    Parameters
    ----------
    kwargs : dict, optional
        Has ``device``, ``dtype``, ``memory_format``, or these in a dict ``factory_kwargs``.

    Raises
    ------
    TypeError
        If there are others, or one is given twice.
    """
    if kwargs is None:
        return {}
    unknown = kwargs.keys() - {*_NAMES, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in _NAMES:
        if name not in kwargs:
            continue
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = kwargs[name]
    return found
