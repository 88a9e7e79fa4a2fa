"""Modules that hold other modules in order or by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Self, overload

from .module import Module, indent

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


def position_in(index: Any, length: int) -> int:
    """Return a valid non-negative position.

    Raises
    ------
    IndexError
        If ``index`` is out of range.
    """
    position = index.__index__()
    if not -length <= position < length:
        raise IndexError(f"index {position} is out of range for a container of {length}.")
    return int(position % length)


class _Numbered(Module):
    """Submodules named "0", "1", …"""

    def _rebuild(self, modules: Iterable[Module]) -> None:
        for name in list(self._modules):
            del self._modules[name]
        for position, module in enumerate(list(modules)):
            self.add_module(str(position), module)

    def _key(self, index: Any) -> str:
        return next(islice(self._modules, position_in(index, len(self)), None))

    def _at(self, index: Any) -> Module:
        module = self._modules[self._key(index)]
        assert module is not None
        return module

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index if isinstance(index, slice) else position_in(index, len(self))]
        self._rebuild(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())  # type: ignore[arg-type]

    def append(self, module: Module) -> Self:
        """Add a module at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before position ``index``; returns self."""
        if not isinstance(module, Module):
            raise TypeError(
                f"{type(module).__name__} is not a Module subclass. Pass an instance of nn.Module."
            )
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise IndexError(
                f"Index out of range: {index}. The container has {len(modules)} modules."
            )
        modules.insert(index, module)
        self._rebuild(modules)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end; returns self.

        Raises
        ------
        TypeError
            If ``modules`` is not iterable.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got "
                f"{type(modules).__name__}. "
                "Use append for one module."
            )
        for module in list(modules):
            self.append(module)
        return self

    def __add__(self, other: Iterable[Module]) -> Self:
        return self._of(chain(self, other))

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)

    def pop(self, index: int = -1) -> Module:
        """Remove the module at ``index`` and return it."""
        module = self._at(index)
        del self[index]
        return module

    def _of(self, modules: Iterable[Module]) -> Self:
        raise NotImplementedError


class Sequential(_Numbered):
    """Call modules one after the other, each with the output of the one before.

    Parameters
    ----------
    *args : Module, or one mapping of str to Module
        Named "0", "1", …, or as in the mapping.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for position, module in enumerate(args):
                self.add_module(str(position), module)

    def forward(self, input: Any) -> Any:
        modules: Any = self._modules.values()
        for module in modules:
            input = module(input)
        return input

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Module | Self:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return self._at(index)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [self._key(index)]:
            del self._modules[name]
        # Numbers close up; given names stay.
        if all(name.isdigit() for name in self._modules):
            self._rebuild(list(self))

    def _of(self, modules: Iterable[Module]) -> Self:
        return type(self)(*modules)


class ModuleList(_Numbered):
    """A list of modules that are registered as submodules "0", "1", ….

    Parameters
    ----------
    modules : iterable of Module, optional
        The first elements.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Module | Self:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._at(index)

    def _of(self, modules: Iterable[Module]) -> Self:
        return type(self)(modules)

    def __repr__(self) -> str:
        """Print equal neighbours once, as ``(0-2): 3 x Linear(…)``."""
        runs: list[list[Any]] = []
        for position, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = position
            else:
                runs.append([position, position, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {indent(text)}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {indent(text)}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules that are registered as submodules under their keys.

    Parameters
    ----------
    modules : mapping or iterable of pairs, optional
        The first entries.
    """

    def __init__(
        self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None
    ) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        module = self._modules[key]
        assert module is not None
        return module

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all entries."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove the entry ``key`` and return its module."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Iterable[str]:
        """Return the keys."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the (key, module) pairs."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add entries, replacing those with the same key.

        Raises
        ------
        TypeError
            If ``modules`` is not a mapping or an iterable of pairs.
        """
        for key, module in pairs_of("ModuleDict", modules):
            self[key] = module


def pairs_of(name: str, entries: Any) -> list[tuple[str, Any]]:
    """Return the entries of a mapping or an iterable of pairs; ``name`` is the container's, for
    errors.
    """
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got "
            f"{type(entries).__name__}. "
            "Pass a dict."
        )
    items: Callable[[], Any] | None = getattr(entries, "items", None)
    pairs = [tuple(pair) for pair in (items() if items is not None else entries)]
    for position, pair in enumerate(pairs):
        if len(pair) != 2:
            raise ValueError(
                f"{name} update sequence element #{position} has length {len(pair)}; 2 is "
                "required. Pass (key, value)."
            )
    return pairs
