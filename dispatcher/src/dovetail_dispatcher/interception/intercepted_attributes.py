"""Makes the attributes of tensors that are no operators (`shape`, `item`, `backward`) overridable,
where a class or a mode overrides them.

Operators find overriding classes and modes by their signature and state bits. Other methods and
properties have no route to miss. So a class with a ``__torch_function__`` of its own gets
descriptors over those that it inherits, and so does the class of plain tensors, but only while a
`TorchFunctionMode` is entered somewhere in the process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from types import MethodType
from typing import Any, Final

from dovetail_kernel import TensorBase, dispatch_state, tensor_class
from dovetail_kernel.forks import renewed_after_fork
from dovetail_kernel.keys.interception import on_overriding_class
from dovetail_kernel.types.signature import OVERRIDES

from .interceptable_attributes import interceptable
from .mode_stacks import function_modes
from .overrides import call_overrides, overriding


def _is_heeded(tensor: TensorBase) -> bool:
    now = dispatch_state()
    return now.function_modes or (now.torch_function and bool(tensor._signature & OVERRIDES))


class InterceptedProperty:
    """Stands over a property. On the class it is not seen: ``Tensor.shape`` is the property itself,
    as ever.
    """

    __slots__ = ("original",)

    def __init__(self, original: Any) -> None:
        self.original = original

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.original
        return _call(self.original.__get__, instance)

    def __set__(self, instance: Any, value: Any) -> None:
        _call(self.original.__set__, instance, value)

    def __delete__(self, instance: Any) -> None:
        _call(self.original.__delete__, instance)


class InterceptedMethod:
    """Stands over a method. On the class it is not seen."""

    __slots__ = ("original",)

    def __init__(self, original: Callable[..., Any]) -> None:
        self.original = original

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.original
        if _is_heeded(instance):
            return partial(_call, self.original, instance)
        return MethodType(self.original, instance)


def _call(function: Callable[..., Any], instance: TensorBase, *args: Any, **kwargs: Any) -> Any:
    if not _is_heeded(instance):
        return function(instance, *args, **kwargs)
    modes, overloaded = overriding((instance, *args), kwargs)
    askable = len(function_modes.modes) * modes + bool(overloaded)
    func = function if askable == 1 else _Reentrant(function)
    return call_overrides(func, overloaded, (instance, *args), kwargs)


class _Reentrant:
    """Stands for a method or getter in the hands of a handler behind which others are to be asked
    when it is called.

    It equals what it stands for, and hashes and is named alike.
    """

    __slots__ = ("_original",)

    def __init__(self, original: Callable[..., Any]) -> None:
        self._original = original

    def __call__(self, instance: Any, *args: Any, **kwargs: Any) -> Any:
        return _call(self._original, instance, *args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return self._original == (other._original if isinstance(other, _Reentrant) else other)

    def __hash__(self) -> int:
        return hash(self._original)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __repr__(self) -> str:
        return repr(self._original)


def _over(value: Any) -> InterceptedProperty | InterceptedMethod:
    return InterceptedProperty(value) if isinstance(value, property) else InterceptedMethod(value)


def intercept_on(cls: type) -> None:
    """Put descriptors on the overriding class `cls` over what it has from the plain tensor class,
    and only that.
    """
    plain = next(
        base for base in cls.__mro__ if base is TensorBase or base.__dict__.get("_is_plain", False)
    )
    own: set[str] = set()
    for base in cls.__mro__[: cls.__mro__.index(plain)]:
        own.update(base.__dict__)
    for name, value in interceptable(plain):
        if name not in own:
            setattr(cls, name, _over(value))


on_overriding_class.append(intercept_on)

_lock = renewed_after_fork(Lock())
_holders: Final[set[object]] = set()
_covered: dict[str, Any] = {}
_ABSENT: Final = object()


def hold_plain_class(holder: object) -> None:
    """Have the attributes of plain tensors intercepted until `release_plain_class` was called for
    every holder.
    """
    with _lock:
        is_first = not _holders
        _holders.add(holder)
        if is_first:
            cls = tensor_class()
            for name, value in interceptable(cls):
                _covered[name] = cls.__dict__.get(name, _ABSENT)
                setattr(cls, name, _over(value))


def release_plain_class(holder: object) -> None:
    """Undo `hold_plain_class`, also one that was interrupted; a second time does nothing."""
    with _lock:
        _holders.discard(holder)
        if not _holders:
            cls = tensor_class()
            for name, value in list(_covered.items()):
                if value is not _ABSENT:
                    setattr(cls, name, value)
                elif name in cls.__dict__:
                    delattr(cls, name)
                del _covered[name]
