"""`DispatchKeySet`: an immutable set of dispatch keys, kept as functionality bits and backend bits
in one int.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from ..devices.backends import Backend, all_backends, backend
from ..types.immutable import Immutable
from .dispatch_key import (
    ALL_BACKENDS_MASK,
    FUNCTIONALITY_MASK,
    DispatchKey,
    backend_key,
    functionality_keys,
    parse_dispatch_key,
)


class DispatchKeySet(Immutable):
    """A set of dispatch keys, in two levels as in PyTorch.

    A per-backend key is a functionality bit and a backend bit, and the set is their product: if it
    contains CPU and CUDA, AutogradCPU implies AutogradCUDA. Removing keys removes only
    functionality bits, not backends.

    Parameters
    ----------
    key
        A single key, or its name; omit it for the empty set. `of` accepts several keys.

    Raises
    ------
    TypeError
        For anything but a key.
    RuntimeError
        For an alias key, which cannot be in a set, and for an unknown key name.
    """

    __slots__ = ("_mask",)

    _mask: int

    def __new__(cls, key: DispatchKey | str | None = None) -> DispatchKeySet:
        if key is None:
            return _EMPTY
        return _from_mask(_mask_of(parse_dispatch_key(key) if isinstance(key, str) else key))

    @classmethod
    def of(cls, *keys: DispatchKey) -> DispatchKeySet:
        """Return the set of all `keys`."""
        mask = 0
        for key in keys:
            mask |= _mask_of(key)
        return _from_mask(mask)

    @staticmethod
    def from_raw_repr(raw: int) -> DispatchKeySet:
        """Return the set whose `raw_repr` is `raw`.

        Raises
        ------
        ValueError
            If `raw` has undefined bits.
        """
        if raw & ~_known_bits():
            raise ValueError(
                f"{raw:#x} is no DispatchKeySet; give an int that raw_repr() returned in this "
                "process"
            )
        return _from_mask(raw)

    def raw_repr(self) -> int:
        """Return the bits: PyTorch's bits for its keys, and bits from 64 on for other backends."""
        return self._mask & _known_bits()

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """Return the set with `key`."""
        return _from_mask(self._mask | _mask_of(key))

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """Return the set without the functionality of `key`, for any backend."""
        return _from_mask(self._mask & ~(_mask_of(key) & FUNCTIONALITY_MASK))

    def has(self, key: DispatchKey) -> bool:
        """Return whether `key` is in the set."""
        mask = _mask_of(key)
        return self._mask & mask == mask

    def highestPriorityTypeId(self) -> DispatchKey:
        """Return the key that a call with these keys is dispatched to; `Undefined` for the empty
        set.
        """
        return next(iter(self.from_highest()), DispatchKey.Undefined)

    def from_highest(self) -> tuple[DispatchKey, ...]:
        """Return the keys in dispatch order, the highest first, each without the functionalities of
        the keys before.
        """
        return _from_highest(self._mask, all_backends())

    def __iter__(self) -> Iterator[DispatchKey]:
        """Iterate over the keys that a call can end at, lowest priority first."""
        mask = self._mask
        backends = [each for each in all_backends() if mask & each.component]
        for key in functionality_keys():
            if mask & key.mask:
                if key.is_runtime:
                    yield key
                else:
                    for each in backends:
                        yield backend_key(key.functionality, each)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, DispatchKey) and not key.is_alias and self.has(key)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        if not isinstance(other, DispatchKeySet):
            return NotImplemented
        return _from_mask(self._mask | other._mask)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        if not isinstance(other, DispatchKeySet):
            return NotImplemented
        return _from_mask(self._mask & other._mask)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        if not isinstance(other, DispatchKeySet):
            return NotImplemented
        return _from_mask(self._mask & ~(other._mask & FUNCTIONALITY_MASK))

    def __bool__(self) -> bool:
        return self._mask != 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._mask == other._mask

    def __hash__(self) -> int:
        return hash(self._mask)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        functionalities = tuple(key.name for key in functionality_keys() if self._mask & key.mask)
        if self._mask < 0:
            return rebuild_key_set, (functionalities, None)
        return rebuild_key_set, (
            functionalities,
            tuple(each.name for each in all_backends() if self._mask & each.component),
        )


def runtime_keys(alias: DispatchKey) -> DispatchKeySet:
    """Return the keys that `alias` stands for, backends yet to come included; for another key, the
    set of just that.
    """
    return _from_mask(alias.mask)


def full_after(key: DispatchKey) -> DispatchKeySet:
    """Return every key of lower priority than `key`, and PythonDispatcher: what is left once `key`
    has been handled.
    """
    _mask_of(key)
    if key is DispatchKey.Undefined:
        lower = 0
    else:
        functionality = key.mask & FUNCTIONALITY_MASK
        lower = (functionality - 1) & FUNCTIONALITY_MASK
    return _from_mask(lower | DispatchKey.PythonDispatcher.mask | ALL_BACKENDS_MASK)


def _mask_of(key: DispatchKey) -> int:
    if not isinstance(key, DispatchKey):
        raise TypeError(
            "DispatchKeySet(): incompatible constructor arguments: expected a DispatchKey, got "
            f"{type(key).__name__}; use DispatchKeySet.of(*keys) for several keys"
        )
    if key.is_alias:
        raise RuntimeError(
            f"{key!r} is an alias key, which no key set can hold; use runtime_keys({key!r})"
        )
    return key.mask


@lru_cache(maxsize=1024)
def _from_mask(mask: int) -> DispatchKeySet:
    return DispatchKeySet.make(_mask=mask)


@lru_cache(maxsize=1024)
def _from_highest(mask: int, known: tuple[Backend, ...]) -> tuple[DispatchKey, ...]:
    backends = [each for each in reversed(known) if mask & each.component]
    found = []
    for key in reversed(functionality_keys()):
        if mask & key.mask & FUNCTIONALITY_MASK:
            if key.is_runtime:
                found.append(key)
            elif backends:
                found.append(backend_key(key.functionality, backends[0]))
            else:
                break  # a functionality for each backend, and none is there
    return tuple(found)


def _known_bits() -> int:
    known = FUNCTIONALITY_MASK
    for each in all_backends():
        known |= each.component
    return known


def rebuild_key_set(
    functionalities: tuple[str, ...], backends: tuple[str, ...] | None
) -> DispatchKeySet:
    mask = (
        ALL_BACKENDS_MASK
        if backends is None
        else sum(backend(name, create=True).component for name in backends)
    )
    for name in functionalities:
        mask |= DispatchKey[name].mask
    return _from_mask(mask)


_EMPTY: Final = _from_mask(0)

full_keyset: Final = _from_mask(FUNCTIONALITY_MASK | ALL_BACKENDS_MASK)
"""Every key, those of backends yet to come included."""

after_autograd_keyset: Final = full_after(DispatchKey.AutogradOther)
"""What is below Autograd."""

after_ADInplaceOrView_keyset: Final = full_after(DispatchKey.ADInplaceOrView)
"""What is below ADInplaceOrView."""


_unpickle = rebuild_key_set  # as pickles of 0.1.0 have it
