"""Modules that hold other modules in order or by name."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Self, overload

from dovetail_kernel import warn_user

from ..module.module_class import Module, _addindent


def _position_in(index: Any, length: int) -> int:
    """Return a valid non-negative position.

    Raises
    ------
    IndexError
        If ``index`` is out of range.
    """
    position = operator.index(index)
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

    def _key(self, index: object) -> str:
        return next(islice(self._modules, _position_in(index, len(self)), None))

    def _at(self, index: object) -> Any:
        return self._modules[self._key(index)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        modules = list(self)
        del modules[idx if isinstance(idx, slice) else _position_in(idx, len(self))]
        self._rebuild(modules)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end; returns self. Raises TypeError if ``modules`` is not iterable."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got "
                f"{type(modules).__name__}. "
                "Use append for one module."
            )
        for module in list(modules):
            self.append(module)
        return self

    @overload
    def pop(self, key: int = ...) -> Module: ...
    @overload
    def pop(self, key: slice) -> Self: ...
    def pop(self, key: int | slice = -1) -> Module | Self:
        """Remove the module at ``key``, or those of a slice, and return it."""
        removed: Any = self[key]  # type: ignore[index]
        del self[key]
        return removed  # type: ignore[no-any-return]


class Sequential(_Numbered):
    """Call modules in order, each with the output of the previous one.

    Parameters
    ----------
    *args : Module, or one mapping of str to Module
        Modules named "0", "1", …, or by the keys of the mapping.
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
    def __getitem__(self, idx: int) -> Module: ...
    @overload
    def __getitem__(self, idx: slice) -> Self: ...
    def __getitem__(self, idx: int | slice) -> Module | Self:
        if isinstance(idx, slice):
            return type(self)(dict(list(self._modules.items())[idx]))
        found: Module = self._at(idx)
        return found

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before position ``index``; returns self.

        Raises
        ------
        AssertionError
            If the argument is not a module.
        IndexError
            If ``index`` is out of range.
        """
        if not isinstance(module, Module):
            raise AssertionError(
                f"module should be of type: {Module}, but is {type(module).__name__}. Pass an "
                "instance of nn.Module."
            )
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise IndexError(
                f"Index out of range: {index}. The container has {len(modules)} modules."
            )
        modules.insert(index, module)
        self._rebuild(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end; returns self."""
        return super().extend(sequential)

    def __add__(self, other: Sequential) -> Sequential:
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        _check_sequential(other)
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_factor(self, factor: object) -> None:
        if not isinstance(factor, int):
            raise TypeError(
                f"unsupported operand type(s) for *: {type(self)} and {type(factor)}. Multiply by "
                "an int."
            )
        if factor <= 0:
            raise ValueError(
                f"Non-positive multiplication factor {factor} for {type(self)}. Multiply by 1 or "
                "more."
            )


def _check_sequential(other: object) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(
            "add operator supports only objects of Sequential class, but "
            f"{type(other)} is given. Use extend."
        )


class ModuleList(_Numbered):
    """A list of modules that are registered as submodules "0", "1", ….

    Parameters
    ----------
    modules : iterable of Module, optional
        The initial elements.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, idx: int) -> Module: ...
    @overload
    def __getitem__(self, idx: slice) -> Self: ...
    def __getitem__(self, idx: int | slice) -> Module | Self:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        found: Module = self._at(idx)
        return found

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before position ``index``, as `list.insert` does."""
        modules = list(self)
        modules.insert(index, module)
        if not isinstance(module, Module):
            raise TypeError(
                f"{type(module).__name__} is not a Module subclass. Pass an instance of nn.Module."
            )
        self._rebuild(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

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
            f"({first}): {_addindent(text)}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {_addindent(text)}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules that are registered as submodules under their keys.

    Parameters
    ----------
    modules : mapping or iterable of pairs, optional
        The initial entries.
    """

    def __init__(
        self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None
    ) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        module: Any = self._modules[key]
        return module  # type: ignore[no-any-return]

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
        for key, module in _pairs_of("ModuleDict", modules):
            self[key] = module


def _pairs_of(name: str, entries: object) -> list[tuple[str, Any]]:
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
    pairs: list[tuple[str, Any]] = []
    for position, entry in enumerate(items() if items is not None else entries):
        if not isinstance(entry, Iterable):
            raise TypeError(
                f"{name} update sequence element #{position} should be Iterable; is "
                f"{type(entry).__name__}. Pass (key, value)."
            )
        pair: Any = tuple(entry)
        pairs.append(pair)
        if len(pair) != 2:
            raise ValueError(
                f"{name} update sequence element #{position} has length {len(pair)}; 2 is "
                "required. Pass (key, value)."
            )
    return pairs


class Container(Module):
    """A module whose submodules are passed as keywords; deprecated in favour of `Module`."""

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        warn_user(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)
