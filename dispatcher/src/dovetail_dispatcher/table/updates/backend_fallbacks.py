"""Puts backend fallbacks into the table: what runs at a key for operators without kernel there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from dovetail_kernel import Backend, DispatchKey, runtime_keys

from .. import registry
from ..kernels import Kernel
from .changes import Change, make

BUILT_IN: Final = "dovetail"
"""Location of the fallbacks that come with the dispatcher; these may be covered by a library's."""

_built_in: Final[dict[DispatchKey, Kernel]] = {}


class FallbackChange(Change):
    """A fallback of a library, at one key or at every runtime key of an alias."""

    __slots__ = ("_make", "kernels", "key")

    def __init__(self, key: DispatchKey, make: Callable[[DispatchKey], Kernel]) -> None:
        self._make = make
        self.key = key
        keys: Iterable[DispatchKey] = runtime_keys(key) if key.is_alias else (key,)
        self.kernels = {each: make(each) for each in keys}

    def apply(self) -> None:
        """Put the kernels over the built-in fallbacks."""
        with registry.changing(registry.all_operators()):
            _of_libraries.append(self)
            registry.fallbacks.update(self.kernels)

    def take_out(self) -> None:
        """Bring the built-in fallbacks back."""
        if self in _of_libraries:
            with registry.changing(registry.all_operators()):
                for key in self.kernels:
                    if key in _built_in:
                        registry.fallbacks[key] = _built_in[key]
                    else:
                        registry.fallbacks.pop(key, None)
                _of_libraries.remove(self)

    def extend_to(self, backend: Backend) -> None:
        """Put the fallback at the keys of a new backend too, if it was registered at an alias."""
        if self.key.is_alias:
            new = [key for key in runtime_keys(self.key) if key.backend is backend]
            self.kernels.update({key: self._make(key) for key in new if key not in self.kernels})
            registry.fallbacks.update(self.kernels)


_of_libraries: Final[list[FallbackChange]] = []


def add_fallback(
    key: DispatchKey, make_kernel: Callable[[DispatchKey], Kernel], owner: list[Change]
) -> None:
    """Put a backend fallback at `key`, or at every runtime key of an alias, for `owner`. Raises
    RuntimeError if one of the keys has a fallback already; nothing is changed then.
    """
    with registry.lock:
        change = FallbackChange(key, make_kernel)
        for each, kernel in change.kernels.items():
            old = registry.fallbacks.get(each)
            if old is not None and old.location != BUILT_IN:
                raise RuntimeError(
                    "Tried to register multiple backend fallbacks for the same dispatch key "
                    f"{each.name}; previous registration registered at {old.origin}, new "
                    f"registration registered at {kernel.origin}. "
                    "Destroy the library that registered the previous one first."
                )
        make(change, owner)


def add_built_in_fallbacks(kernels: Iterable[Kernel]) -> None:
    """Add the fallbacks of the dispatcher, below all fallbacks of libraries."""
    with registry.lock, registry.changing(registry.all_operators()):
        for kernel in kernels:
            _built_in[kernel.key] = kernel
            registry.fallbacks.setdefault(kernel.key, kernel)


def extend_alias_fallbacks(backend: Backend) -> None:
    """Put the fallbacks that were registered at an alias key at the keys of a new backend too."""
    with registry.lock, registry.changing(registry.all_operators()):
        for fallback in _of_libraries:
            fallback.extend_to(backend)
