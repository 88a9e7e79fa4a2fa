"""Helpers of layers: sizes repeated for all dimensions, and prefixes of state-dict names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from typing import Any, Final

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that makes a tuple of `n` of a single value, and any iterable a tuple."""

    def parse(x: object) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single: Final = _ntuple(1, "_single")
_pair: Final = _ntuple(2, "_pair")
_triple: Final = _ntuple(3, "_triple")
_quadruple: Final = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[object, ...], n: int) -> tuple[Any, ...]:
    """Return the items of `t` from the last, each `n` times: padding as `pad` takes it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(
    out_size: int | Sequence[int | None], defaults: Sequence[int]
) -> int | list[int]:
    """Return `out_size` with the last of `defaults` in place of None; a single int as it is. Raises
    ValueError if there are fewer defaults than sizes.
    """
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[-len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(
    state_dict: MutableMapping[str, object], prefix: str
) -> None:
    """Remove `prefix` from the names in a state dict, in place; renamed entries move to the end.

    Parameters
    ----------
    state_dict : dict
        State dict, with ``_metadata`` if present.
    prefix : str
        Prefix such as ``"module."``.
    """
    _shorten(state_dict, prefix)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        _shorten(metadata, prefix, alone=prefix.removesuffix("."))


def _shorten(names: MutableMapping[str, object], prefix: str, alone: str | None = None) -> None:
    """Take `prefix` off the keys; the key `alone` becomes empty."""
    for name in list(names):
        if name and (name == alone or name.startswith(prefix)):
            names[name[len(prefix) :]] = names.pop(name)
