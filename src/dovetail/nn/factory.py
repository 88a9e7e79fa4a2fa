"""Constructor arguments for the creation of parameters."""

from __future__ import annotations

from typing import Any, Final

_NAMES: Final = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the constructor arguments for the creation of parameters.

    Parameters
    ----------
    kwargs : dict, optional
        Has ``device``, ``dtype``, ``memory_format``, or these in a dict ``factory_kwargs``.

    Raises
    ------
    TypeError
        For other arguments, or if one is passed twice.
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
