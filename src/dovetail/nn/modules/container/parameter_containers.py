"""Modules that hold parameters in order or by name."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, overload

from dovetail_aten import Tensor

from ...parameter import Parameter
from ..module import Module
from .containers import _pairs_of, _position_in


class ParameterList(Module):
    """A list that registers its tensors as parameters "0", "1", …; other values are stored
    unchanged.

    Parameters
    ----------
    values : iterable, optional
        The initial elements.
    """

    def __init__(self, values: Iterable[object] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    @overload
    def __getitem__(self, idx: int) -> Any: ...
    @overload
    def __getitem__(self, idx: slice) -> Self: ...
    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return getattr(self, str(_position_in(idx, self._size)))

    def __setitem__(self, idx: int, param: object) -> None:
        setattr(self, str(_position_in(idx, self._size)), _as_parameter(param))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called. Index it for its parameters.")

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(position)) for position in range(self._size))

    def append(self, value: object) -> Self:
        """Add a value at the end; returns self."""
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: object) -> Self:
        """Add values at the end; returns self.

        Raises
        ------
        TypeError
            If ``values`` is not an iterable, or a single tensor.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}. "
                "Use append for one value."
            )
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, parameters: object) -> Self:
        return self.extend(parameters)

    def pop(self, index: int = -1) -> Any:
        """Remove the value at ``index`` and return it."""
        values = list(self)
        removed = values.pop(_position_in(index, self._size))
        for position in range(self._size):
            delattr(self, str(position))
        self._size = 0
        self.extend(values)
        return removed

    def extra_repr(self) -> str:
        return "\n".join(
            _describe(position, value, str(getattr(value, "dtype", "")))
            for position, value in enumerate(self)
        )


class ParameterDict(Module):
    """A dictionary that registers its tensors as parameters under their keys; other values are
    stored unchanged.

    Parameters
    ----------
    parameters : mapping or iterable of pairs, optional
        The initial entries.
    """

    def __init__(self, parameters: object = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: object) -> None:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type(key).__name__}'). Use str(key)."
            )
        self._check_name("parameter", key, self._keys)
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called. Index it for its parameters.")

    def __or__(self, other: object) -> ParameterDict:
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: Any) -> Any:
        both = other.copy()
        both.update(self)
        return both

    def __ior__(self, other: object) -> Self:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Return a copy with the same values."""
        return ParameterDict(self.items())

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of ``key``; if it is missing, set it to ``default`` first."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove the last entry and return it as (key, value)."""
        key = next(reversed(self._keys), None)
        if key is None:
            raise KeyError("popitem(): the ParameterDict is empty")
        return key, self.pop(key)

    def fromkeys(self, keys: Iterable[str], default: object = None) -> ParameterDict:
        """Return a new dictionary with ``default`` under all ``keys``."""
        return ParameterDict([(key, default) for key in keys])

    def get(self, key: str, default: object = None) -> Any:
        """Return the value of ``key``, or ``default``."""
        return getattr(self, key) if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Remove the entry ``key`` and return its value."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self):
            del self[key]

    def keys(self) -> Iterable[str]:
        """Return the keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the (key, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: object) -> None:
        """Add entries, replacing those with the same key.

        As in PyTorch, the entries of a mapping are sorted by key; an OrderedDict, a ParameterDict
        or pairs keep their order.

        Raises
        ------
        TypeError
            If ``parameters`` is not a mapping or an iterable of pairs.
        """
        pairs = _pairs_of("ParameterDict", parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs.sort(key=operator.itemgetter(0))
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(
            _describe(key, value, str(value.type()) if isinstance(value, Tensor) else "")
            for key, value in self.items()
        )


def _as_parameter(value: object) -> Any:
    return (
        Parameter(value)
        if isinstance(value, Tensor) and not isinstance(value, Parameter)
        else value
    )


def _describe(key: object, value: object, kind: str) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    size = "x".join(str(length) for length in value.shape)
    place = "" if value.device.type == "cpu" else f" ({value.device})"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {what} containing: [{kind} of size {size}{place}]"
