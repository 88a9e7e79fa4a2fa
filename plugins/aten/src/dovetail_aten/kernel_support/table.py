"""The table of array kernels that the families fill, before it is registered for a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Generic, TypeVar

from .complete_namespace import Missing

Function = Callable[..., Any]
_Defined = TypeVar("_Defined")


class ArrayKernel:
    """An array kernel and its faster forms.

    Attributes
    ----------
    fn
        The kernel, with the parameters of the schema.
    fast_path
        Takes the tensor arguments alone; used when all others have their defaults.
    out_function
        Takes the tensor arguments, and ``out=``.
    general_out_function
        Takes all arguments, and ``out=``.
    """

    __slots__ = ("fast_path", "fn", "general_out_function", "out_function")

    def __init__(
        self,
        fn: Function,
        fast_path: Function | None = None,
        out_function: Function | None = None,
        general_out_function: Function | None = None,
    ) -> None:
        self.fn = fn
        self.fast_path = fast_path
        self.out_function = out_function
        self.general_out_function = general_out_function


class PendingFamily(MutableMapping[str, _Defined], Generic[_Defined]):
    """What families define, by name. The names are known before: the first look-up of one loads its
    family.
    """

    def __init__(self) -> None:
        self._defined: dict[str, _Defined | None] = {}
        self._loaders: dict[str, Callable[[str], _Defined | None]] = {}

    def declare(self, name: str, load: Callable[[str], _Defined | None]) -> None:
        """Let ``load(name)`` define `name` when it is first looked up."""
        self._defined[name] = None
        self._loaders[name] = load

    def is_pending(self, name: str) -> bool:
        """Return whether `name` was not looked up yet."""
        return name in self._loaders

    def __getitem__(self, name: str) -> _Defined:
        value = self._defined[name]
        load = self._loaders.get(name) if value is None else None
        if load is not None:
            value = load(name)
            if value is not None:
                self[name] = value
        value = self._defined[name]  # by this thread or another one
        if value is None:
            raise RuntimeError(f"its family defines no {name!r}. Generate anew: make codegen.")
        return value

    def __setitem__(self, name: str, value: _Defined) -> None:
        self._defined[name] = value
        self._loaders.pop(name, None)

    def __delitem__(self, name: str) -> None:
        del self._defined[name]
        self._loaders.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._defined)

    def __len__(self) -> int:
        return len(self._defined)


class KernelTable:
    """Array kernels by operator, and helper functions of derivatives by name. A later definition
    replaces an earlier one.

    Attributes
    ----------
    guard
        Function that wraps a kernel, or a kernel with ``out=``. Default: itself.
    """

    __slots__ = ("guard", "helpers", "kernels")

    def __init__(self, guard: Callable[[Function, bool], Function] | None = None) -> None:
        self.guard = guard
        self.kernels: PendingFamily[ArrayKernel] = PendingFamily()
        self.helpers: PendingFamily[Function] = PendingFamily()

    def __call__(
        self,
        name: str,
        fn: Function,
        *,
        fast_path: Function | None = None,
        out_function: Function | None = None,
        general_out_function: Function | None = None,
    ) -> None:
        """Define the kernel of one operator: ``kernel("exp", xp.exp)``.

        There is none if the namespace has no such function.
        """
        if isinstance(fn, Missing):
            self.kernels.pop(name, None)
            return
        forms = [fn, fast_path, out_function, general_out_function]
        found = [None if isinstance(form, Missing) else form for form in forms]
        if self.guard is not None:
            writes = (False, False, True, True)
            found = [
                None if form is None else self.guard(form, to_out)
                for form, to_out in zip(found, writes, strict=True)
            ]
        self.kernels[name] = ArrayKernel(found[0] or fn, *found[1:])
